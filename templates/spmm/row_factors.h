// How the scale of a row of A is taken back from sums of scaled products.
#pragma once

#include "abi/packed_strips.h"

namespace vostok {

/// One factor at each promotion, one at the end. The first keeps sums of small rows and large columns from becoming
/// infinite, the second the precision of the others.
struct RowFactors {
  float promotion;
  float end;
};

/// What a row of marked strips loses, as ColumnLosses compares sums with it.
struct RowLoss {
  float inverse;  ///< of its scale; 0 where all of the row is zero, which loses nothing
  float lossy;    ///< a bound of how many of its elements lose more than their rounding
};

/// Whether such a row loses anything. `marked` is its inverse scale with its mark.
__device__ inline bool row_loses(float marked) {
  const unsigned code = __builtin_bit_cast(unsigned, marked) & packed_row_mark_bits();
  return code > 0 && code != packed_zero_row_mark();
}

/// `marked` is the row's inverse scale with its mark.
__device__ inline RowLoss row_loss(float marked) {
  const unsigned bits = __builtin_bit_cast(unsigned, marked);
  const unsigned code = bits & packed_row_mark_bits();
  if (code == packed_zero_row_mark()) return {0.0F, 0.0F};
  const float lossy = code > 0 ? __builtin_bit_cast(float, packed_power_bits(static_cast<int>(code) - 1)) : 0.0F;
  return {__builtin_bit_cast(float, bits - code), lossy};
}

/// `inverse` is 1 / scale of the row. Sums in units of scale * A times B's true size are up to 2^34 times the column's
/// largest element in a k block, and may be summed over 2^10 of those: 2^-44 leaves them all finite.
__device__ inline RowFactors row_factors(float inverse) {
  constexpr float least = 0x1p-44F;
  if (inverse >= 1.0F) return {1.0F, inverse};
  if (inverse >= least) return {inverse, 1.0F};
  return {least, inverse * 0x1p44F};
}

}  // namespace vostok
