// The problem's factor, and exponents that neither overflow nor lose digits whatever it is.
#pragma once

#include "abi/softmax.h"
#include "parts/epilogue.h"
#include "parts/exponential.h"

namespace vostok {

consteval float softmax_log2_e() { return 1.44269504088896340736F; }
consteval float softmax_ln_2() { return 0.69314718055994530942F; }
consteval float softmax_infinity() { return __builtin_bit_cast(float, 0x7f800000U); }

/// exp(scale * x) by way of z = +-x / 2: exp(scale * x - scale * y) = 2^((zx - zy) * rate). Differences of halves never
/// overflow, and are exact where it matters, so the scale is applied to what is small. A scale of zero acts as its
/// limit from above: entries of -infinity stay outside the row. One that is not finite makes everything NaN.
template <Scale scale>
class ScaledExponent {
 public:
  __device__ explicit ScaledExponent(const SoftmaxOperands& operands) {
    if constexpr (scale != Scale::one) {
      constexpr float largest = 0x1.fffffep127F;
      constexpr float smallest = 0x1p-149F;
      const float factor = scale_factor<scale>(operands.scale, operands.device_scale);
      magnitude_ = fabsf(factor);
      half_ = magnitude_ <= largest ? (factor < 0.0F ? -0.5F : 0.5F) : factor - factor;
      rate_ = fminf(fmaxf(magnitude_ * (2.0F * softmax_log2_e()), smallest), largest);
    }
  }

  __device__ float half_of(float x) const { return scale == Scale::one ? x : x * half_; }

  /// 2^((z - origin) * rate); the origin must not be -infinity.
  __device__ float power(float z, float origin) const { return fast_exp2((z - origin) * rate()); }

  /// exp(scale * x - logarithm) for x's half.
  __device__ float power_less_logarithm(float z, float logarithm) const {
    return fast_exp2(fmaf(z, rate(), -softmax_log2_e() * logarithm));
  }

  /// The logarithm of sum * exp(scale * x), x's half given. Of no sum at all: -infinity.
  __device__ float logarithm(float z, float sum) const {
    if (sum == 0.0F) return -softmax_infinity();
    if constexpr (scale == Scale::one) return z + logf(sum);
    else return fmaf(z * 2.0F, magnitude_, logf(sum));
  }

 private:
  __device__ float rate() const { return scale == Scale::one ? softmax_log2_e() : rate_; }

  float half_ = 1.0F;
  float rate_ = softmax_log2_e();
  float magnitude_ = 1.0F;
};

}  // namespace vostok
