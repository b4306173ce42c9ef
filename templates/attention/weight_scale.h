// Weights of a strip's lines as f16 terms have them: relative to the largest weight of each own line so far, so that
// they have as many bits as terms hold, however gradients and the lines that they multiply differ in size.
#pragma once

#include "attention/term_exponents.h"
#include "parts/warp.h"

namespace vostok {

/// Of the lines group and group + 8 of a lane (parts/mma.h).
class WeightScale {
  static constexpr int most_exponent = 127, weight_exponent = 15;  // f16 ends at 2^16
  static constexpr int field_bias = 126;                           // of what is below a power of two

 public:
  /// Scales a step's weights. `powers`: of the lines that they multiply; `factors`: of the sums so far.
  template <int octets>
  __device__ void weigh(float (&weights)[octets][4], float (&factors)[2], SharedAddress powers) {
    float largest[2] = {0.0F, 0.0F}, scales[2];
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      const ColumnPowers columns = column_powers(powers, o);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        weights[o][i] *= columns.at[i % 2];
        largest[i / 2] = fmaxf(largest[i / 2], fabsf(weights[o][i]));
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      largest[half] = line_largest(largest[half]);
      const int field = static_cast<int>(__builtin_bit_cast(unsigned, largest[half]) >> 23);
      const int exponent = min(exponents_[half], weight_exponent + field_bias - field);
      factors[half] = power_of_two(exponent - exponents_[half]);
      scales[half] = power_of_two(exponent);
      exponents_[half] = exponent;
    }
#pragma unroll
    for (int i = 0; i < 4 * octets; ++i) weights[i / 4][i % 4] *= scales[i / 2 % 2];
  }

  /// Gives sums of products with weights their own size.
  template <int octets>
  __device__ void restore(float (&sums)[octets][4]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int exponent = -exponents_[half] - term_power_shift();
      const float lower = power_of_two(exponent / 2), upper = power_of_two(exponent - exponent / 2);
#pragma unroll
      for (int o = 0; o < octets; ++o)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) sums[o][i] = sums[o][i] * lower * upper;
    }
  }

  /// What a line's largest weight is at least, by the power of the line that it multiplies; 0 of very small ones.
  __device__ float least_largest(int half) const {
    return exponents_[half] < most_exponent ? power_of_two(weight_exponent - 1 - exponents_[half]) : 0.0F;
  }

 private:
  int exponents_[2] = {most_exponent, most_exponent};  ///< of the factors of weights so far
};

}  // namespace vostok
