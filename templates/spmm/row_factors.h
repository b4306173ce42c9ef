// How the scale of a row of A is taken back from sums of scaled products.
#pragma once

namespace vostok {

/// One factor at each promotion, one at the end. The first keeps sums of small rows and large columns from becoming infinite, the second
/// the precision of the others.
struct RowFactors {
  float promotion;
  float end;
};

/// What a sum of the row is compared with: nothing where all of the row is zero (packed_row_exponent).
__device__ inline float row_inverse(const RowFactors& row) {
  const float inverse = row.promotion * row.end;
  return inverse > 0x1p-126F ? inverse : 0.0F;
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
