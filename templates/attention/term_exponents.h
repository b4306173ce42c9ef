// Exponents of lines that were split into 16-bit terms (abi/attention_terms.h), as kernels of attention read them.
#pragma once

#include "abi/attention_terms.h"
#include "parts/shared_address.h"

namespace vostok {

/// 2^exponent, of exponents below 128; 0 below f32's normal range.
__device__ inline float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<unsigned>(max(exponent + 127, 0)) << 23);
}
/// 2^exponent of any; infinity above f32's range.
__device__ inline float any_power_of_two(int exponent) { return power_of_two(min(exponent, 128)); }

__device__ inline int exponent_at(SharedAddress exponents, int line) {
  return static_cast<int>(load_word(exponents + 4 * line));
}

/// The line of a tile's part that element i of an octet of scores is of (parts/mma.h).
__device__ inline int fragment_column(int octet, int i) {
  return 8 * octet + static_cast<int>(threadIdx.x % 4 * 2) + i;
}

}  // namespace vostok
