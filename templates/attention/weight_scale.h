// Weights of a strip's lines as f16 terms have them: relative to the largest weight of each own line so far, so that
// they have as many bits as terms hold, however gradients and the lines that they multiply differ in size.
#pragma once

#include "abi/attention_terms.h"
#include "attention/term_exponents.h"
#include "parts/warp.h"

namespace vostok {

/// Of the lines group and group + 8 of a lane (parts/mma.h). A weight below 2^-112 counts as 2^-112 here: a power of
/// two that is beyond f32's would be wanted.
class WeightScale {
  static constexpr int weight_exponent = 15;  // f16 ends at 2^16
  static constexpr int least_field = 14, field_bias = 126;

 public:
  /// Scales a step's weights. `exponents`: of the lines that they multiply; `factors`: of the sums so far.
  template <int octets>
  __device__ void weigh(float (&weights)[octets][4], float (&factors)[2], SharedAddress exponents) {
    int largest[2] = {largest_[0], largest_[1]};
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int field = static_cast<int>(__builtin_bit_cast(unsigned, weights[o][i]) >> 23 & 0xffU);
        largest[i / 2] =
            max(largest[i / 2], max(field, least_field) + exponent_at(exponents, fragment_column(o, i % 2)));
      }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      largest[half] = max(largest[half], shuffle_xor(largest[half], 1));
      largest[half] = max(largest[half], shuffle_xor(largest[half], 2));
      factors[half] = power_of_two(largest_[half] - largest[half]);
      largest_[half] = largest[half];
    }
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        weights[o][i] *= power_of_two(exponent_at(exponents, fragment_column(o, i % 2)) - largest[i / 2] + field_bias +
                                      weight_exponent);
  }

  /// Gives sums of products with weights their own size.
  template <int octets>
  __device__ void restore(float (&sums)[octets][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int exponent = sums_exponent(half);
      const float lower = any_power_of_two(exponent / 2), upper = any_power_of_two(exponent - exponent / 2);
#pragma unroll
      for (int o = 0; o < octets; ++o)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) sums[o][i] = sums[o][i] * lower * upper;
    }
  }

  /// Whether a line's largest weight, which with its line's power of two was `largest`, is 2^20 times what weights
  /// lack.
  __device__ bool vouches(int half, float largest) const {
    return largest == 0.0F || any_power_of_two(sums_exponent(half) + term_lost_exponent()) <= 0x1p-20F * largest;
  }

 private:
  __device__ int sums_exponent(int half) const {
    return largest_[half] - field_bias - weight_exponent - term_exponent_bias();
  }

  int largest_[2] = {0, 0};  ///< of fields of f32's exponents and of lines' exponents together
};

}  // namespace vostok
