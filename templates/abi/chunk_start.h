// Chunks: equal shares of a sparse matrix. What the topology's table holds and kernels read.
#pragma once

namespace vostok {

/// Where a chunk starts. A matrix has an item for each nonzero and one for each row's end, in the order of its rows: as
/// many items are as much work, empty rows included. Chunk c starts at item c * chunk_items, or, where that lies in a
/// row of at most chunk_items items, with that row: such rows are never cut. So a chunk has 1 to 2 * chunk_items - 1
/// items. It ends where the next one starts; behind the last chunk the table holds {rows, nonzeros, nonzeros, number of
/// chunks}.
struct alignas(16) ChunkStart {
  int row = 0;
  int position = 0;  ///< of its first nonzero, in CSR order
  int row_end = 0;   ///< past the row's last nonzero
  int first = 0;     ///< number of the chunk in which the row begins; of this one, where it starts with the row
};

constexpr long long chunk_count(long long rows, long long nonzeros, int chunk_items) {
  return (rows + nonzeros + chunk_items - 1) / chunk_items;
}

/// Most nonzeros of a chunk.
constexpr int most_chunk_entries(int chunk_items) { return 2 * chunk_items - 1; }

}  // namespace vostok
