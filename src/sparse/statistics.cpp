#include <algorithm>
#include <cmath>

#include "sparse/csr.hpp"

namespace vostok {

double TopologyStatistics::sparsity() const {
  if (rows == 0 || cols == 0) return 1;
  const double density = static_cast<double>(nonzeros) / (static_cast<double>(rows) * static_cast<double>(cols));
  return std::max(0.0, 1 - density);  // repeated columns can make more nonzeros than there are places
}

namespace sparse {
namespace {

/// Population deviation of the row lengths over their mean; 0 where there are no nonzeros.
double row_variation(std::span<const std::int64_t> row_offsets, double mean) {
  if (mean == 0) return 0;
  double squares = 0;
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    const double difference = static_cast<double>(row_offsets[row + 1] - row_offsets[row]) - mean;
    squares += difference * difference;
  }
  return std::sqrt(squares / static_cast<double>(row_offsets.size() - 1)) / mean;
}

bool repeats_a_column(std::span<const std::int32_t> columns, bool sorted, std::vector<std::int32_t>& scratch) {
  if (sorted) return std::adjacent_find(columns.begin(), columns.end()) != columns.end();
  scratch.assign(columns.begin(), columns.end());
  std::sort(scratch.begin(), scratch.end());
  return std::adjacent_find(scratch.begin(), scratch.end()) != scratch.end();
}

}  // namespace

TopologyStatistics statistics(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                              std::span<const std::int32_t> column_indices) {
  TopologyStatistics result{.rows = rows, .cols = cols, .nonzeros = static_cast<std::int64_t>(column_indices.size())};
  std::vector<std::int32_t> scratch;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = row_offsets[row + 1] - row_offsets[row];
    result.longest_row = std::max(result.longest_row, length);
    if (length == 0) ++result.empty_rows;
    const auto columns = column_indices.subspan(static_cast<std::size_t>(row_offsets[row]), static_cast<std::size_t>(length));
    const bool sorted = std::is_sorted(columns.begin(), columns.end());
    result.sorted = result.sorted && sorted;
    result.duplicates = result.duplicates || repeats_a_column(columns, sorted, scratch);
  }
  if (rows > 0) result.mean_row = static_cast<double>(result.nonzeros) / static_cast<double>(rows);
  result.row_variation = row_variation(row_offsets, result.mean_row);
  return result;
}

}  // namespace sparse
}  // namespace vostok
