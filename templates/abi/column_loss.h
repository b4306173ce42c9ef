// How many elements of a column of B lose more than their rounding when f32 is scaled and split into f16 terms, told in
// the last bits of the column's inverse scale. That is a power of two, whose mantissa is free; what the bits add to it
// is below 2^-21 of it.
//
// What an element loses is in packed_least_kept.
#pragma once

#include "abi/packed_strips.h"

namespace vostok {

/// An inverse scale with a bound of the number of such elements.
constexpr unsigned marked_scale_bits(unsigned inverse_bits, unsigned lossy) {
  return inverse_bits | (lossy > 16 ? 3 : lossy > 1 ? 2 : lossy);
}
constexpr float marked_scale(float inverse, unsigned lossy) {
  return __builtin_bit_cast(float, marked_scale_bits(__builtin_bit_cast(unsigned, inverse), lossy));
}

constexpr unsigned marked_scale_mask() { return 3; }

/// That bound, for columns of at most 128 elements; of scales whose bits were combined by or, one that holds for each.
constexpr float marked_count(unsigned scale_bits) {
  const unsigned code = scale_bits & marked_scale_mask();
  return code == 3 ? 128.0F : code == 2 ? 16.0F : static_cast<float>(code);
}

}  // namespace vostok
