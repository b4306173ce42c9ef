// The table of chunks: where each share of nonzeros and row ends starts.
#pragma once

#include "abi/fixed.h"
#include "topology/integer.h"

namespace vostok {

/// The row that holds an item: the last one that begins at it or before. `item` is below rows + nonzeros.
__device__ inline long long row_of_item(const int* row_offsets, long long rows, long long item) {
  long long low = 0, high = rows;
  while (high - low > 1) {
    const long long middle = low + (high - low) / 2;
    (row_offsets[middle] + middle <= item ? low : high) = middle;
  }
  return low;
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) fill_chunks(const __grid_constant__ FillChunksArgs args) {
  static_assert(F::traits.offsets == IntegerType::i32, "chunks number their nonzeros in 32 bits");
  for (long long chunk = thread_in_grid(); chunk <= args.chunk_count; chunk += threads_in_grid()) {
    ChunkStart start{static_cast<int>(args.rows), args.row_offsets[args.rows], args.row_offsets[args.rows],
                     static_cast<int>(chunk)};
    if (chunk < args.chunk_count) {
      const long long item = chunk * args.chunk_items;
      const long long row = row_of_item(args.row_offsets, args.rows, item);
      const int begin = args.row_offsets[row];
      const int end = args.row_offsets[row + 1];
      const bool starts_row = end - begin < args.chunk_items || item == begin + row;
      start = {static_cast<int>(row), starts_row ? begin : static_cast<int>(item - row), end,
               static_cast<int>(starts_row ? chunk : (begin + row) / args.chunk_items)};
    }
    args.chunks[chunk] = start;
  }
}

}  // namespace vostok
