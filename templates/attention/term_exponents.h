// Powers of two of lines that were split into 16-bit terms (abi/attention_terms.h), as kernels of attention read them.
#pragma once

#include "abi/attention_terms.h"
#include "parts/shared_address.h"

namespace vostok {

/// 2^exponent, of exponents below 128; 0 below f32's normal range.
__device__ inline float power_of_two(int exponent) {
  return __builtin_bit_cast(float, static_cast<unsigned>(max(exponent + 127, 0)) << 23);
}

__device__ inline int exponent_at(SharedAddress exponents, int line) {
  return static_cast<int>(load_word(exponents + 4 * line));
}
__device__ inline float power_at(SharedAddress powers, int line) {
  return __builtin_bit_cast(float, load_word(powers + 4 * line));
}

/// The line of a tile's part that element i of an octet of scores is of (parts/mma.h).
__device__ inline int fragment_column(int octet, int i) {
  return 8 * octet + static_cast<int>(threadIdx.x % 4 * 2) + i;
}

/// Where the powers of a part of a tile lie: of lines of key_size, and of value_size.
struct TilePowers {
  SharedAddress keys;
  SharedAddress values;
};

/// Those of the two columns that a lane has of an octet.
struct ColumnPowers {
  float at[2];
};
__device__ inline ColumnPowers column_powers(SharedAddress powers, int octet) {
  return {power_at(powers, fragment_column(octet, 0)), power_at(powers, fragment_column(octet, 1))};
}

}  // namespace vostok
