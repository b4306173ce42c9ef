#include "sparse/panels.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"

namespace vostok::sparse {

std::vector<std::int32_t> panel_starts(const Csr& csr, int panel_rows) {
  if (csr.nonzeros() > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot cut a matrix into panels: {} nonzeros are past 2^31 - 1", csr.nonzeros());
  std::vector<std::int32_t> starts;
  starts.reserve(static_cast<std::size_t>(panel_start_count(csr.rows, csr.cols, panel_rows)));
  for (std::int64_t panel = 0; panel <= panel_count(csr.cols, panel_rows); ++panel)
    for (std::size_t row = 0; row < static_cast<std::size_t>(csr.rows); ++row) {
      const auto begin = csr.column_indices.begin() + csr.row_offsets[row];
      const auto end = csr.column_indices.begin() + csr.row_offsets[row + 1];
      const auto first = std::find_if(begin, end, [&](std::int32_t column) { return column >= panel * panel_rows; });
      starts.push_back(static_cast<std::int32_t>(first - csr.column_indices.begin()));
    }
  return starts;
}

}  // namespace vostok::sparse
