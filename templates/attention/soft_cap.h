// What scores go through before their exponentials: a factor, or softcap * tanh(scale * score / softcap); and behind
// that a bias.
#pragma once

#include "abi/fused_attention.h"
#include "attention/online_softmax.h"

namespace vostok {

/// A function's value, and its derivative.
struct Curve {
  float value;
  float slope;
};

/// The value within 2^-20 of itself, and both within 2^-20 of 1. Infinities become 1 and -1.
__device__ inline Curve fast_tanh(float x) {
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

/// The factors of scores. Those of a cap come from the host, so that no register keeps them, and have the scale's sign,
/// as the factor before a bias has; else scores have it already (exponent_rate).
template <class F>
struct ScoreRates {
  static constexpr bool capped = F::traits.capped;
  static constexpr float log2_e = 1.44269504088896340736F;

  float inner;     ///< of what tanh takes
  float outer;     ///< of capped scores, or else of scores, before a bias is added
  float exponent;  ///< of all that in powers of two: without biases, of capped scores or of scores

  ScoreRates() = default;
  __device__ explicit ScoreRates(const FusedAttentionArgs& args)
      : inner(args.cap_inner), outer(capped ? args.softcap : finite_rate(args.scale)), exponent(log2_e) {
    if constexpr (!F::traits.biased) exponent = capped ? args.cap_exponent : exponent_rate(args.scale);
  }

  /// Of scores that have their scale already.
  static __device__ ScoreRates of_scaled(const FusedAttentionArgs& args) {
    ScoreRates rates(args);
    if constexpr (capped) rates.inner = 1.0F / args.softcap;
    else rates.outer = 1.0F;
    return rates;
  }

  static __device__ bool flips_scores(const FusedAttentionArgs& args) {
    return !capped && !F::traits.biased && args.scale < 0.0F;
  }

  /// Of a score that `cap` returned.
  __device__ float biased(float score, float bias) const { return fmaf(score, outer, bias); }

  __device__ Curve curve(float score) const { return capped ? fast_tanh(score * inner) : Curve{score, 1.0F}; }
  __device__ float cap(float score) const { return curve(score).value; }

  template <int octets>
  __device__ void cap(float (&scores)[octets][4]) const {
    if constexpr (capped) {
#pragma unroll
      for (int i = 0; i < 4 * octets; ++i) scores[i / 4][i % 4] = cap(scores[i / 4][i % 4]);
    }
  }
};

}  // namespace vostok
