#include "sparse/transpose.hpp"

#include <numeric>

namespace vostok::sparse {

Transposed transpose(const Csr& csr) {
  Transposed result;
  result.csr.rows = csr.cols;
  result.csr.cols = csr.rows;
  std::vector<std::int64_t>& offsets = result.csr.row_offsets;
  offsets.assign(static_cast<std::size_t>(csr.cols + 1), 0);
  for (const std::int32_t column : csr.column_indices) ++offsets[static_cast<std::size_t>(column) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());

  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  result.csr.column_indices.resize(csr.column_indices.size());
  result.csr.values.resize(csr.values.size());
  result.value_positions.resize(csr.column_indices.size());
  for (std::size_t row = 0; row + 1 < csr.row_offsets.size(); ++row) {
    for (auto i = static_cast<std::size_t>(csr.row_offsets[row]);
         i < static_cast<std::size_t>(csr.row_offsets[row + 1]); ++i) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(csr.column_indices[i])]++);
      result.csr.column_indices[to] = static_cast<std::int32_t>(row);
      result.value_positions[to] = static_cast<std::int32_t>(i);
      if (!csr.values.empty()) result.csr.values[to] = csr.values[i];
    }
  }
  return result;
}

}  // namespace vostok::sparse
