// How many elements of a column of B lose more than their rounding when f32 is scaled and split into f16 terms, told in
// the last bits of the column's inverse scale. That is a power of two, whose mantissa is free; what the bits add to it
// is below 2^-21 of it.
//
// The inverse is 0 where all elements are zeros: they lose nothing, and ask nothing of the column's sums. It is 0 as
// well where all others are NaN or infinite: sums are then NaN, and are made again.
//
// What an element loses is in packed_least_kept.
#pragma once

#include "abi/packed_strips.h"

namespace vostok {

/// The bits of a column's inverse scale, from those of its largest finite magnitude. `certified`: sums are, else none
/// is 0.
constexpr unsigned inverse_scale_bits(unsigned largest_bits, bool certified) {
  if (certified && largest_bits == 0) return 0;
  return packed_power_bits(-packed_scale_exponent(largest_bits));
}

/// The same of a scale that stays for k blocks to come: the largest magnitude becomes at least 2^5 and below 2^6, so
/// that a thousand times as much is finite in f16.
constexpr unsigned kept_inverse_bits(unsigned largest_bits) {
  constexpr int room = 8;
  return packed_power_bits(room - packed_scale_exponent(largest_bits));
}

/// The bits of the scale whose inverse, marked or not, has these: 1 for 0.
constexpr unsigned scale_bits_of(unsigned inverse_bits) {
  return inverse_bits == 0 ? packed_power_bits(0) : packed_power_bits(127) - (inverse_bits & 0x7f800000U);
}

/// An inverse scale with a bound of the number of such elements; of an inverse of 0 there are none.
constexpr unsigned marked_scale_bits(unsigned inverse_bits, unsigned lossy) {
  return inverse_bits | (lossy > 16 ? 3 : lossy > 1 ? 2 : lossy);
}

constexpr unsigned marked_scale_mask() { return 3; }

/// That bound, for columns of at most 128 elements; of scales whose bits were combined by or, one that holds for each.
constexpr float marked_count(unsigned scale_bits) {
  const unsigned code = scale_bits & marked_scale_mask();
  return code == 3 ? 128.0F : code == 2 ? 16.0F : static_cast<float>(code);
}

}  // namespace vostok
