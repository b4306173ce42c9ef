#include "sparse/strips.hpp"

#include <algorithm>
#include <limits>

#include "base/text.hpp"

namespace vostok::sparse {

std::vector<Strip> strips(std::span<const std::int64_t> row_offsets, int strip_entries) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  if (rows > most || row_offsets.back() > most)
    fail(ErrorCode::unsupported, "cannot cut rows into strips: {} rows with {} nonzeros exceed 32 bits", rows,
         row_offsets.back());
  std::vector<Strip> table;
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    const auto first = static_cast<int>(table.size());
    for (std::int64_t begin = row_offsets[row]; begin < row_offsets[row + 1]; begin += strip_entries) {
      const std::int64_t end = std::min(begin + strip_entries, row_offsets[row + 1]);
      table.push_back({.row = static_cast<int>(row),
                       .begin = static_cast<int>(begin),
                       .end = static_cast<int>(end),
                       .first = first});
    }
  }
  return table;
}

}  // namespace vostok::sparse
