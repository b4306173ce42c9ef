// A number as one or two 16-bit terms, as packed strips have them (abi/packed_strips.h): hi = rounded(v) and lo =
// rounded(v - hi), lo = 0 where hi is not finite.
#pragma once

#include "abi/packed_strips.h"
#include "parts/element.h"

namespace vostok {

/// The terms of a number.
struct SplitParts {
  unsigned short high;
  unsigned short low;
};

template <PackedMode mode>
__device__ inline SplitParts split_number(float value) {
  constexpr Dtype type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;
  const unsigned short high = Element<type>::from_float(value);
  if constexpr (packed_pair_words(mode) == 1) return {high, 0};
  const float rounded = Element<type>::to_float(high);
  const bool is_finite = (__builtin_bit_cast(unsigned, rounded) & 0x7f800000U) != 0x7f800000U;
  return {high, is_finite ? Element<type>::from_float(value - rounded) : static_cast<unsigned short>(0)};
}

/// The terms of two neighbours, those of the first in the lower halves.
struct SplitPair {
  unsigned high;
  unsigned low;
};

/// A pair of which no element is infinite or rounds to infinity: its low term would be none that a sum can do with.
template <PackedMode mode>
__device__ inline SplitPair split_finite_pair(float first, float second) {
  if constexpr (packed_is_f16(mode)) {
    const unsigned high = f32_to_f16_pair(first, second);
    if constexpr (packed_pair_words(mode) == 1) return {high, 0};
    const auto rounded = [&](unsigned half) { return f16_to_f32(static_cast<unsigned short>(half)); };
    return {high, f32_to_f16_pair(first - rounded(high), second - rounded(high >> 16))};
  } else {
    const unsigned high = f32_to_bf16_pair(first, second);
    const auto rounded = [&](unsigned upper) { return __builtin_bit_cast(float, upper); };
    return {high, f32_to_bf16_pair(first - rounded(high << 16), second - rounded(high & 0xffff0000U))};
  }
}

/// Any pair.
template <PackedMode mode>
__device__ inline SplitPair split_pair(float first, float second) {
  const SplitParts lower = split_number<mode>(first);
  const SplitParts upper = split_number<mode>(second);
  return {lower.high | static_cast<unsigned>(upper.high) << 16, lower.low | static_cast<unsigned>(upper.low) << 16};
}

/// Whether a scaled number may lose more than its rounding. Zero never does, of which activations have many.
template <PackedMode mode>
__device__ inline bool may_lose(float value) {
  return value != 0 && fabsf(value) < packed_least_kept(mode);
}

/// Whether one of the scaled numbers that visit(use) uses may: at one instruction each where none is small.
template <PackedMode mode, class Visit>
__device__ inline bool any_may_lose(Visit visit) {
  float least = packed_least_kept(mode);
  visit([&](float value) { least = fminf(least, fabsf(value)); });
  if (least == packed_least_kept(mode)) return false;
  bool any = false;
  visit([&](float value) { any = any || may_lose<mode>(value); });
  return any;
}

/// Whether scaled numbers are among those that may lose more than their rounding: three instructions for two. Zero is
/// none of them.
template <PackedMode mode>
class SmallNumbers {
 public:
  __device__ void add(float first, float second) { least_ = lesser(least_, lesser(order_of(first), order_of(second))); }
  __device__ bool any() const { return least_ < order_of(packed_least_kept(mode)); }
  /// Whether one is so small that its first term is zero.
  __device__ bool any_vanishes() const { return least_ <= order_of(0x1p-25F); }

 private:
  static __device__ unsigned lesser(unsigned first, unsigned second) { return first < second ? first : second; }
  /// As magnitudes are ordered, but zero is the largest.
  static __device__ unsigned order_of(float value) {
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    return bits + bits - 1;
  }

  unsigned least_ = 0xffffffffU;
};

/// Whether a scaled number loses more than its rounding in its terms.
template <PackedMode mode>
__device__ inline bool loses(float value) {
  using Term = Element<packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16>;
  const SplitParts parts = split_number<mode>(value);
  return fabsf(value) < packed_least_kept(mode) && Term::to_float(parts.high) + Term::to_float(parts.low) != value;
}

/// The bits of |value|, as integers in the order of magnitudes; 0 where it is not finite.
__device__ inline unsigned finite_magnitude(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value) & 0x7fffffffU;
  return bits < 0x7f800000U ? bits : 0;
}

}  // namespace vostok
