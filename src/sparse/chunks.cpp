#include "sparse/chunks.hpp"

#include <limits>

#include "base/text.hpp"

namespace vostok::sparse {

std::vector<ChunkStart> chunk_starts(std::span<const std::int64_t> row_offsets, int chunk_items) {
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  const std::int64_t nonzeros = row_offsets.back();
  if (rows + nonzeros > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot cut a matrix into chunks: {} rows with {} nonzeros exceed 32 bits", rows,
         nonzeros);
  const std::int64_t count = chunk_count(rows, nonzeros, chunk_items);
  std::vector<ChunkStart> table;
  table.reserve(static_cast<std::size_t>(count) + 1);
  std::int64_t row = 0;
  for (std::int64_t chunk = 0; chunk < count; ++chunk) {
    const std::int64_t item = chunk * chunk_items;
    while (row_offsets[static_cast<std::size_t>(row) + 1] + row + 1 <= item) ++row;
    const std::int64_t begin = row_offsets[static_cast<std::size_t>(row)];
    const std::int64_t end = row_offsets[static_cast<std::size_t>(row) + 1];
    const bool stays_whole = end - begin < chunk_items;
    const bool starts_row = stays_whole || item == begin + row;
    table.push_back({.row = static_cast<int>(row),
                     .position = static_cast<int>(starts_row ? begin : item - row),
                     .row_end = static_cast<int>(end),
                     .first = static_cast<int>(starts_row ? chunk : (begin + row) / chunk_items)});
  }
  table.push_back({.row = static_cast<int>(rows),
                   .position = static_cast<int>(nonzeros),
                   .row_end = static_cast<int>(nonzeros),
                   .first = static_cast<int>(count)});
  return table;
}

}  // namespace vostok::sparse
