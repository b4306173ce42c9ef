// Sparse matrices on the host: what files hold, what generators make, what references multiply.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <vostok/topology.hpp>

namespace vostok::sparse {

/// A CSR structure, with values where the source had them.
struct Csr {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int64_t> row_offsets = {0};  ///< rows + 1
  std::vector<std::int32_t> column_indices = {};
  std::vector<double> values = {};  ///< empty: a pattern
  std::string note = {};            ///< what reading did to it, e.g. "pattern, symmetric, expanded"

  std::int64_t nonzeros() const { return static_cast<std::int64_t>(column_indices.size()); }
  CsrView view() const {
    return {.rows = rows, .cols = cols, .row_offsets = row_offsets.data(), .column_indices = column_indices.data()};
  }
};

/// Throws invalid_topology naming the row and the value: offsets not rows + 1 values, not starting at 0, decreasing,
/// not ending at the number of indices; a column outside [0, cols). `what` names the object ("topology", a file).
void validate(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
              std::span<const std::int32_t> column_indices, const std::string& what);

/// The parts of `validate`, for readers that meet the offsets before the columns.
void validate_offsets(std::int64_t rows, std::span<const std::int64_t> row_offsets, std::int64_t nonzeros,
                      const std::string& what);
void validate_column(std::int64_t row, std::int64_t column, std::int64_t cols, const std::string& what);

/// Coefficient of variation of row lengths, from the exact sum of their squares: alike wherever that was summed.
double row_variation(std::int64_t rows, std::int64_t nonzeros, std::uint64_t sum_of_squares);
/// Of the rows that are not empty (TopologyStatistics::span_share).
double span_share(std::int64_t rows, std::int64_t cols, std::uint64_t spanned);

/// Statistics of a valid structure (unsorted and duplicate columns are noted, not refused).
TopologyStatistics statistics(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                              std::span<const std::int32_t> column_indices);

}  // namespace vostok::sparse
