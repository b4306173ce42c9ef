#include "sparse/csr.hpp"

#include "base/text.hpp"

namespace vostok::sparse {

void validate_offsets(std::int64_t rows, std::span<const std::int64_t> row_offsets, std::int64_t nonzeros,
                      const std::string& what) {
  const auto refuse = [&](const std::string& reason) {
    fail(ErrorCode::invalid_topology, "cannot use {}: {}", what, reason);
  };
  if (rows < 0) refuse(fmt::format("rows = {} is negative", rows));
  const auto count = static_cast<std::int64_t>(row_offsets.size());
  if (count - 1 != rows) refuse(fmt::format("{} rows need {} row offsets, there are {}", rows, rows + 1, count));
  if (row_offsets[0] != 0) refuse(fmt::format("row 0 starts at {}, not at 0", row_offsets[0]));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t begin = row_offsets[row], end = row_offsets[row + 1];
    if (end < begin)
      refuse(fmt::format("row offsets decrease at row {}: it starts at {} and ends at {}", row, begin, end));
    if (end > nonzeros) refuse(fmt::format("row {} ends at {}, past the {} column indices", row, end, nonzeros));
  }
  if (row_offsets[rows] != nonzeros)
    refuse(fmt::format("the last row offset, of row {}, is {}, not the {} column indices", rows, row_offsets[rows],
                       nonzeros));
}

void validate_column(std::int64_t row, std::int64_t column, std::int64_t cols, const std::string& what) {
  if (column < 0 || column >= cols)
    fail(ErrorCode::invalid_topology, "cannot use {}: row {} has column {}, outside [0, {})", what, row, column, cols);
}

void validate(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_offsets,
              std::span<const std::int32_t> column_indices, const std::string& what) {
  if (cols < 0) fail(ErrorCode::invalid_topology, "cannot use {}: cols = {} is negative", what, cols);
  validate_offsets(rows, row_offsets, static_cast<std::int64_t>(column_indices.size()), what);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = row_offsets[row]; i < row_offsets[row + 1]; ++i)
      validate_column(row, column_indices[i], cols, what);
  }
}

}  // namespace vostok::sparse
