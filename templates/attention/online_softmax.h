// Softmax of a strip of 16 queries whose scores come a few keys at a time: sums so far are relative to the largest
// score so far, and are scaled where a larger one comes (Milakov, Gimelshein: Online normalizer calculation for
// softmax, arXiv 1805.02867).
//
// The origin is kept as what exponents are taken relative to, in powers of two and rounded once: what is rounded is the
// same for all scores of a row.
#pragma once

#include "parts/exponential.h"
#include "parts/warp.h"

namespace vostok {

consteval float attention_infinity() { return __builtin_bit_cast(float, 0x7f800000U); }

/// The factor of scores in powers of two, of its magnitude: the sign is put into the queries. One that is not finite
/// makes all NaN, so that rows are made again.
__device__ inline float exponent_rate(float scale) {
  constexpr float log2_e = 1.44269504088896340736F;
  constexpr float largest = 0x1.fffffep127F;
  const float magnitude = fabsf(scale);
  return magnitude <= largest ? fminf(fmaxf(magnitude * log2_e, 0x1p-149F), largest) : scale - scale;
}

/// A factor, or NaN where it is not finite, as exponent_rate.
__device__ inline float finite_rate(float scale) { return fabsf(scale) <= 0x1.fffffep127F ? scale : scale - scale; }

/// Of the rows group and group + 8 of a lane (parts/mma.h).
class OnlineSoftmax {
 public:
  /// Makes exponentials of scores, and returns by what each row's sums so far are to be multiplied in `factors`. Keys
  /// that a query does not name have a score of -infinity. Where `lazy`, exponentials are at most 2^8: an origin stays
  /// until a score is as much larger, so that sums are seldom scaled. between() runs before any exponential is made.
  template <bool lazy = false, int octets, class Between>
  __device__ void add(float (&scores)[octets][4], const float (&rates)[2], float (&factors)[2], Between between) {
    float from[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float origin = new_origin<lazy>(scores, rates[half], half);
      from[half] = origin == -attention_infinity() ? 0.0F : origin;
      factors[half] = fast_exp2(origin_[half] - from[half]);
      origin_[half] = origin;
    }
    between();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float sum = 0.0F;
#pragma unroll
      for (int o = 0; o < octets; ++o)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[o][i] = fast_exp2(fmaf(scores[o][i], rates[half], -from[half]));
          sum += scores[o][i];
        }
      total_[half] = fmaf(total_[half], factors[half], sum);
    }
  }
  template <bool lazy = false, int octets>
  __device__ void add(float (&scores)[octets][4], const float (&rates)[2], float (&factors)[2]) {
    add<lazy>(scores, rates, factors, [] {});
  }

  /// Adds up what the four lanes of a row have.
  __device__ void finish() {
#pragma unroll
    for (float& total : total_) total = warp_sum<1, 2>(total);
  }

  __device__ float origin(int half) const { return origin_[half]; }
  __device__ float total(int half) const { return total_[half]; }

 private:
  template <bool lazy, int octets>
  __device__ float new_origin(const float (&scores)[octets][4], float rate, int half) const {
    constexpr float slack = 8;
    float largest = -attention_infinity();
#pragma unroll
    for (int o = 0; o < octets; ++o) largest = fmaxf(largest, fmaxf(scores[o][2 * half], scores[o][2 * half + 1]));
    const float reached = line_largest(largest) * rate;
    if constexpr (lazy) return reached > origin_[half] + slack ? reached : origin_[half];
    else return fmaxf(origin_[half], reached);
  }

  float origin_[2] = {-attention_infinity(), -attention_infinity()};
  float total_[2] = {0.0F, 0.0F};
};

/// What scores may lack where they were multiplied as terms, in powers of two: what f32 rounds of the largest exponent.
__device__ inline float allowed_score_lack(float largest) { return fmaf(fabsf(largest), 0x1p-22F, 0x1p-17F); }

/// What sums are multiplied by at the end. A row that names no key, or only scores of -infinity, becomes zeros.
__device__ inline float softmax_divisor(float total) { return total == 0.0F ? 0.0F : 1.0F / total; }

/// The logarithm of a row's sum of exponentials.
__device__ inline float softmax_logarithm(float origin, float total) {
  constexpr float ln_2 = 0.69314718055994530942F;
  return total == 0.0F ? -attention_infinity() : fmaf(origin, ln_2, logf(total));
}

}  // namespace vostok
