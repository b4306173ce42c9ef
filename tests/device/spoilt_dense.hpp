// A dense operand that is not finite where the sparse one has no use for it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sparse/csr.hpp"
#include "tune/spmm_host.hpp"

namespace vostok::test {

inline sparse::Csr without_every_fourth_column(const sparse::Csr& csr) {
  sparse::Csr kept{.rows = csr.rows, .cols = csr.cols};
  for (std::size_t row = 0; std::cmp_less(row, csr.rows); ++row) {
    for (std::int64_t i = csr.row_offsets[row]; i < csr.row_offsets[row + 1]; ++i)
      if (csr.column_indices[static_cast<std::size_t>(i)] % 4 != 3)
        kept.column_indices.push_back(csr.column_indices[static_cast<std::size_t>(i)]);
    kept.row_offsets.push_back(kept.nonzeros());
  }
  return kept;
}

/// Writes NaN and infinities to rows of B that A does not name. Returns how many.
inline int spoil_unnamed(tune::SpmmHost& host) {
  std::vector<bool> named(static_cast<std::size_t>(host.walked.cols), false);
  for (const std::int32_t column : host.walked.column_indices) named[static_cast<std::size_t>(column)] = true;
  constexpr std::array spoilers = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                   -std::numeric_limits<float>::infinity()};
  const bool by_rows = host.problem.dense_layout == Layout::row_major;
  int spoilt = 0;
  for (std::int64_t product = 0; product < host.problem.batch; ++product)
    for (std::int64_t k = 0; k < host.walked.cols; ++k) {
      if (named[static_cast<std::size_t>(k)]) continue;
      const std::int64_t column = k * 7 % host.problem.n;
      const std::int64_t line = by_rows ? k : column, place = by_rows ? column : k;
      const std::int64_t at = product * host.dense_shape.stride + line * host.dense_shape.leading + place;
      host.dense[static_cast<std::size_t>(at)] = spoilers[static_cast<std::size_t>(spoilt++ % 3)];
    }
  return spoilt;
}

}  // namespace vostok::test
