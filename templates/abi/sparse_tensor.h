// sparse_tensor, SpMM on tensor cores that skip two of every four elements, from sparse strips: what the host and the
// kernels of every instruction share. Elements have 16 bits.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/sparse_strips.h"
#include "abi/sums_again.h"
#include "abi/unpack_sum.h"

namespace vostok {

/// What the problem fixes.
struct SparseTensorTraits {
  Dtype element = Dtype::f16;  ///< of A and B
  Dtype output = Dtype::f16;
  bool batched = false;
  Layout dense_layout = Layout::row_major;
  Layout output_layout = Layout::row_major;
  int dense_alignment = 16;   ///< bytes that divide every line start of B
  int output_alignment = 16;  ///< bytes that divide every line start of C and of the residual, and the length of lines
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool residual = false;
  bool accumulate = false;
  Dtype bias_element = Dtype::f32;  ///< of the bias
  bool certify = false;  ///< sums that elements of B which A lacks have spoilt are made again (spmm/sums_again.h)
};

/// The strips hold values of the traits' type.
constexpr StripsKind sparse_strips_kind(const SparseTensorTraits& traits) {
  return {traits.element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1, PackedGrain::pair, true, false};
}

struct SparseTensorArgs {
  PackedStrips strips;  ///< sparse ones: offsets and data alone
  const void* dense;
  WholeDense whole_dense;  ///< read where sums are made again
  void* output;
  const void* residual;  ///< lies as C does
  const void* bias;
  const float* device_scale;
  PartialSums partial;  ///< written instead of C where a second launch adds up slices
  long long m;
  long long n;
  long long k;
  long long dense_leading;  ///< elements between lines of B
  long long dense_stride;   ///< elements between two B of a batch
  long long output_leading;
  long long output_stride;
  unsigned batch;
  unsigned row_tiles;
  unsigned column_tiles;
  unsigned slice_blocks;  ///< k blocks of a slice; the last may have fewer
  float scale;
};

template <FieldsOf<SparseTensorTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("batched", traits.batched);
  visit("dense_layout", traits.dense_layout);
  visit("output_layout", traits.output_layout);
  visit("dense_alignment", traits.dense_alignment);
  visit("output_alignment", traits.output_alignment);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("scale", traits.scale);
  visit("residual", traits.residual);
  visit("accumulate", traits.accumulate);
  visit("bias_element", traits.bias_element);
  visit("certify", traits.certify);
}

}  // namespace vostok
