// unpack_sum, the second launch of a product whose k was cut into slices: what host and kernels share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/sums_again.h"

namespace vostok {

struct UnpackSumTraits {
  Dtype output = Dtype::f32;
  Layout output_layout = Layout::row_major;
  int output_alignment = 16;  ///< bytes that divide every line start of C and of the residual, and the length of lines
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool residual = false;
  bool accumulate = false;
  Dtype bias_element = Dtype::f32;  ///< of the bias
  Dtype element = Dtype::f32;       ///< of B; this and the strips' kind say what sums are made again from
  PackedMode mode = PackedMode::f16x3;
  PackedGrain grain = PackedGrain::pair;
  bool sparse_strips = false;
  bool marked_strips = false;
  bool certify = false;  ///< sums that are not finite are made again (spmm/sums_again.h)
};

struct UnpackSumConfig {
  int warps = 4;
  bool stream_output = false;
};

/// Sums of slices of k, as fragments: of each product and slice, of 16 rows after 16 rows and eight columns after eight
/// columns, 32 lanes of four sums (parts/mma.h). Tiles reach past C: so do these.
struct PartialSums {
  float* at;
  long long row_strips;
  long long octets;
  long long slices;

  constexpr long long slice_stride() const { return row_strips * octets * 128; }
};

struct UnpackSumArgs {
  PartialSums partial;
  PackedStrips strips;     ///< read where sums are made again
  WholeDense whole_dense;  ///< likewise
  void* output;
  const void* residual;  ///< lies as C does
  const void* bias;
  const float* device_scale;
  long long m;
  long long n;
  long long output_leading;
  long long output_stride;
  unsigned batch;
  float scale;
};

template <FieldsOf<UnpackSumTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("output", traits.output);
  visit("output_layout", traits.output_layout);
  visit("output_alignment", traits.output_alignment);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("scale", traits.scale);
  visit("residual", traits.residual);
  visit("accumulate", traits.accumulate);
  visit("bias_element", traits.bias_element);
  visit("element", traits.element);
  visit("mode", traits.mode);
  visit("grain", traits.grain);
  visit("sparse_strips", traits.sparse_strips);
  visit("marked_strips", traits.marked_strips);
  visit("certify", traits.certify);
}

template <FieldsOf<UnpackSumConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("warps", config.warps);
  visit("stream_output", config.stream_output);
}

constexpr StripsKind strips_kind(const UnpackSumTraits& traits, const UnpackSumConfig&) {
  return {traits.mode, traits.grain, traits.sparse_strips, traits.marked_strips};
}

}  // namespace vostok
