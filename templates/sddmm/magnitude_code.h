// A bound of a sum of magnitudes, in a byte: 0 is none but zeros, and code c is below 2^(c - 127), but that the largest
// code is any, NaN too.
#pragma once

namespace vostok {

consteval unsigned largest_magnitude_code() { return 255; }

__device__ inline unsigned magnitude_code(float magnitudes) {
  const unsigned bits = __builtin_bit_cast(unsigned, magnitudes);
  if (bits == 0) return 0;
  const unsigned code = (bits >> 23) + 1;
  return code < largest_magnitude_code() ? code : largest_magnitude_code();
}

}  // namespace vostok
