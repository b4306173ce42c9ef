// What happens to a product before it is stored: activation(scale * product + bias), in f32.
#pragma once

#include "abi/enums.h"
#include "parts/loads.h"

namespace vostok {

template <Bias bias, Activation activation, Scale scale>
struct EpilogueOp {
  static_assert(activation == Activation::none || activation == Activation::relu, "activation: this version stores none and relu");
  static_assert(scale != Scale::device, "scale: this version takes one and host");

  const float* bias_values;
  float factor;

  /// The bias of a row; zero where the bias belongs to columns.
  __device__ float row_bias(unsigned row) const {
    if constexpr (bias == Bias::per_row) return load_global(bias_values + row);
    else return 0.0F;
  }

  __device__ float operator()(float product, float bias_of_row, long long column) const {
    float value = product;
    if constexpr (scale == Scale::host) value *= factor;
    if constexpr (bias == Bias::per_row) value += bias_of_row;
    if constexpr (bias == Bias::per_column) value += load_global(bias_values + column);
    // NaN passes through, as it does in float64 references.
    if constexpr (activation == Activation::relu) value = value < 0.0F ? 0.0F : value;
    return value;
  }
};

}  // namespace vostok
