// A number as one or two 16-bit terms, as packed strips have them (abi/packed_strips.h): hi = rounded(v) and lo = rounded(v - hi), lo = 0
// where hi is not finite.
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

}  // namespace vostok
