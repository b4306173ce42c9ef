#include <abi/topology.h>

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

bool repeats_a_column(std::span<const std::int32_t> columns, bool sorted, std::vector<std::int32_t>& scratch) {
  if (sorted) return std::adjacent_find(columns.begin(), columns.end()) != columns.end();
  scratch.assign(columns.begin(), columns.end());
  std::sort(scratch.begin(), scratch.end());
  return std::adjacent_find(scratch.begin(), scratch.end()) != scratch.end();
}

/// Positions of a row that end a run, told by its first column as on the device (templates/topology/check.h).
std::int64_t run_ends(std::span<const std::int32_t> columns) {
  constexpr std::size_t before = run_columns() - 1;
  std::int64_t count = 0;
  for (std::size_t i = before; i < columns.size(); ++i)
    count += columns[i] - columns[i - before] == static_cast<std::int32_t>(before) ? 1 : 0;
  return count;
}

/// From a row's first entry to its last, as on the device.
std::uint64_t columns_spanned(std::span<const std::int32_t> columns) {
  if (columns.empty()) return 0;
  return static_cast<std::uint64_t>(std::abs(std::int64_t{columns.back()} - columns.front())) + 1;
}

}  // namespace

double span_share(std::int64_t rows, std::int64_t cols, std::uint64_t spanned) {
  if (rows == 0 || cols == 0) return 0;
  return static_cast<double>(spanned) / (static_cast<double>(rows) * static_cast<double>(cols));
}

double row_variation(std::int64_t rows, std::int64_t nonzeros, std::uint64_t sum_of_squares) {
  if (nonzeros == 0) return 0;
  // rows^2 times the variance, in integers: equal lengths give 0, and the order of summing does not matter.
  __extension__ using Wide = unsigned __int128;
  const auto scaled =
      static_cast<Wide>(rows) * sum_of_squares - static_cast<Wide>(nonzeros) * static_cast<Wide>(nonzeros);
  return std::sqrt(static_cast<double>(scaled)) / static_cast<double>(nonzeros);
}

TopologyStatistics statistics(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
                              std::span<const std::int32_t> column_indices) {
  TopologyStatistics result{.rows = rows, .cols = cols, .nonzeros = static_cast<std::int64_t>(column_indices.size())};
  std::vector<std::int32_t> scratch;
  std::uint64_t sum_of_squares = 0;
  std::int64_t runs = 0;
  std::uint64_t spanned = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = row_offsets[row + 1] - row_offsets[row];
    sum_of_squares += static_cast<std::uint64_t>(length) * static_cast<std::uint64_t>(length);
    result.longest_row = std::max(result.longest_row, length);
    if (length == 0) ++result.empty_rows;
    const auto columns =
        column_indices.subspan(static_cast<std::size_t>(row_offsets[row]), static_cast<std::size_t>(length));
    runs += run_ends(columns);
    spanned += columns_spanned(columns);
    const bool sorted = std::is_sorted(columns.begin(), columns.end());
    result.sorted = result.sorted && sorted;
    result.duplicates = result.duplicates || repeats_a_column(columns, sorted, scratch);
  }
  if (rows > 0) result.mean_row = static_cast<double>(result.nonzeros) / static_cast<double>(rows);
  result.row_variation = row_variation(rows, result.nonzeros, sum_of_squares);
  if (result.nonzeros > 0) result.run_share = static_cast<double>(runs) / static_cast<double>(result.nonzeros);
  result.span_share = span_share(rows - result.empty_rows, cols, spanned);
  return result;
}

}  // namespace sparse
}  // namespace vostok
