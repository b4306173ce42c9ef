// What scores go through before their exponentials: a factor, or softcap * tanh(scale * score / softcap).
#pragma once

#include "attention/online_softmax.h"

namespace vostok {

struct Tanh {
  float value;
  float slope;
};

/// The value within 2^-20 of itself, and both within 2^-20 of 1. Infinities become 1 and -1.
__device__ inline Tanh fast_tanh(float x) {
  constexpr float twice_log2_e = 2.88539008177792681472F;
  const float magnitude = fabsf(x), square = x * x;
  const float power = fast_exp2(-twice_log2_e * magnitude);
  const float reciprocal = __fdividef(1.0F, 1.0F + power);
  // Where x is small, 1 - power cancels, and the series serves.
  float series = fmaf(square, 62.0F / 2835.0F, -17.0F / 315.0F);
  series = fmaf(square, fmaf(square, series, 2.0F / 15.0F), -1.0F / 3.0F);
  const float small = fmaf(x * square, series, x), large = copysignf((1.0F - power) * reciprocal, x);
  return {magnitude < 0.25F ? small : large, 4.0F * power * reciprocal * reciprocal};
}

/// The factors of scores that have the scale's sign already (exponent_rate).
template <bool capped>
struct ScoreRates {
  float inner;     ///< of what tanh takes
  float exponent;  ///< of capped scores, or else of scores, in powers of two

  __device__ ScoreRates(float scale, float softcap)
      : inner(capped ? fabsf(scale) / softcap : 1.0F), exponent(exponent_rate(capped ? softcap : scale)) {}

  __device__ float cap(float score) const { return capped ? fast_tanh(score * inner).value : score; }

  template <int octets>
  __device__ void cap(float (&scores)[octets][4]) const {
    if constexpr (capped) {
#pragma unroll
      for (int i = 0; i < 4 * octets; ++i) scores[i / 4][i % 4] = cap(scores[i / 4][i % 4]);
    }
  }
};

}  // namespace vostok
