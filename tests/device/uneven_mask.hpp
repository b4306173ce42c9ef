// A sparse structure that is hard to share out.
#pragma once

#include "sparse/generate.hpp"

namespace vostok::test {

/// Rows from empty to full, some very long: what warps and neighbouring strips find hardest.
inline sparse::Csr uneven_mask(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  sparse::Random random(seed);
  sparse::Csr csr{.rows = rows, .cols = cols};
  for (std::int64_t r = 0; r < rows; ++r) {
    const double share = random.below(4) == 0 ? 0.0 : random.below(8) == 0 ? 1.0 : random.uniform() * random.uniform();
    for (std::int64_t k = 0; k < cols; ++k)
      if (random.uniform() < share) csr.column_indices.push_back(static_cast<std::int32_t>(k));
    csr.row_offsets.push_back(csr.nonzeros());
  }
  return csr;
}

/// A sorted matrix, half full of entries in 300 of 70,000 columns: indices past 16 bits.
inline sparse::Csr mask_of_wide_columns(std::int64_t rows, std::uint64_t seed) {
  sparse::Csr wide = sparse::uniform(rows, 300, 0.5, seed);
  wide.cols = 70'000;
  for (std::int32_t& column : wide.column_indices) column = column * 233 + 11;
  return wide;
}

}  // namespace vostok::test
