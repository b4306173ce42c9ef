// What happens to a product before it is stored, in f32: activation(scale * product + bias + residual + output so far).
#pragma once

#include "abi/enums.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

/// A NaN passes through every activation, as it does in float64 references. The forms chosen do not cancel far below
/// zero.
template <Activation activation>
__device__ inline float activated(float x) {
  if constexpr (activation == Activation::relu) return x < 0.0F ? 0.0F : x;
  else if constexpr (activation == Activation::gelu) return 0.5F * x * erfcf(x * -0.707106781F);
  else if constexpr (activation == Activation::gelu_tanh)
    return x / (1.0F + expf(-1.59576912F * (x + 0.044715F * x * x * x)));
  else if constexpr (activation == Activation::silu) return x / (1.0F + expf(-x));
  else return x;
}

/// The factor of a product: 1, the host's, or what device memory holds.
template <Scale scale>
__device__ inline float scale_factor(float host_scale, const float* device_scale) {
  if constexpr (scale == Scale::device) return load_global(device_scale);
  else if constexpr (scale == Scale::host) return host_scale;
  else return 1.0F;
}

/// An element of a bias, as memory holds it.
template <Dtype element, class Place>
__device__ inline const typename Element<element>::Storage* bias_place(const void* values, Place place) {
  return static_cast<const typename Element<element>::Storage*>(values) + place;
}

template <Dtype element, class Place>
__device__ inline float load_bias(const void* values, Place place) {
  return Element<element>::to_float(load_global(bias_place<element>(values, place)));
}

/// load_in_place (parts/loads.h) of 16 bits.
__device__ inline unsigned short load_half_in_place(const unsigned short* memory) {
#if defined(VOSTOK_EMULATOR)
  return *memory;
#else
  unsigned short value;
  asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(value) : "l"(memory));
  return value;
#endif
}

template <Dtype element, class Place>
__device__ inline float load_bias_in_place(const void* values, Place place) {
  const auto* const memory = bias_place<element>(values, place);
  if constexpr (element == Dtype::f32) return load_in_place(memory);
  else return Element<element>::to_float(load_half_in_place(memory));
}

/// Scale and bias.
template <Bias bias, Scale scale, Dtype bias_element>
struct ScaleAndBias {
  const void* bias_values;
  float factor;

  /// The bias of a row; zero where the bias belongs to columns.
  __device__ float row_bias(unsigned row) const {
    if constexpr (bias == Bias::per_row) return load_bias<bias_element>(bias_values, row);
    else return 0.0F;
  }

  __device__ float operator()(float product, float bias_of_row, long long column) const {
    float value = product;
    if constexpr (scale != Scale::one) value *= factor;
    if constexpr (bias == Bias::per_row) value += bias_of_row;
    // The caller has tested that the column exists, perhaps in a loop over rows.
    if constexpr (bias == Bias::per_column) value += load_bias_in_place<bias_element>(bias_values, column);
    return value;
  }
};

}  // namespace vostok
