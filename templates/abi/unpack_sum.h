// unpack_sum, the second launch of a product whose k was cut into slices: what host and kernels share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

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
};

struct UnpackSumConfig {
  int warps = 4;
  bool stream_output = false;
};

/// Sums of slices of k, as fragments: of each product and slice, of 16 rows after 16 rows and eight columns after eight columns, 32
/// lanes of four sums (parts/mma.h). Tiles reach past C: so do these.
struct PartialSums {
  float* at;
  long long row_strips;
  long long octets;
  long long slices;

  constexpr long long slice_stride() const { return row_strips * octets * 128; }
};

struct UnpackSumArgs {
  PartialSums partial;
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
}

template <FieldsOf<UnpackSumConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("warps", config.warps);
  visit("stream_output", config.stream_output);
}

}  // namespace vostok
