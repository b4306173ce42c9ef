// Lists of a mask's tiles (abi/tile_lists.h) from CSR with sorted rows. A warp looks at a tile: each lane searches one
// row for the tile's columns. Nothing depends on what runs first.
#pragma once

#include "abi/fixed.h"
#include "abi/tile_lists.h"
#include "topology/block_sum.h"
#include "topology/sorted_row.h"

namespace vostok {

/// The nonzeros of a row that lie in a tile: places in CSR order.
struct RowSegment {
  int begin;
  int end;
};

template <class F>
__device__ inline RowSegment row_segment(const TileStepArgs& args, long long row, long long column_tile) {
  constexpr IntegerType type = integer_type(F::traits.index);
  if (row >= args.rows) return {0, 0};
  const int end = args.row_offsets[row + 1];
  const long long column = column_tile * args.tile_columns;
  const int begin = first_not_below<type>(args.column_indices, args.row_offsets[row], end, column);
  return {begin, first_not_below<type>(args.column_indices, begin, end, column + args.tile_columns)};
}

/// visit(row in the tile, its segment, entries of the tile before it) for each row, a lane each; returns the tile's
/// entries.
template <class F, class Visit>
__device__ inline int visit_rows(const TileStepArgs& args, long long tile, Visit visit) {
  const long long row_tile = tile / args.column_tiles;
  int entries = 0;
  for (int row = static_cast<int>(threadIdx.x % 32); row < args.tile_rows; row += 32) {
    const RowSegment segment = row_segment<F>(args, row_tile * args.tile_rows + row, tile % args.column_tiles);
    const int length = segment.end - segment.begin;
    const int through = warp_inclusive_sum(length);
    visit(row, segment, entries + through - length);
    entries += __shfl_sync(0xffffffffU, through, 31);
  }
  return entries;
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) count_tiles(const __grid_constant__ TileStepArgs args) {
  for (long long tile = thread_in_grid() / 32; tile < args.tile_count; tile += threads_in_grid() / 32) {
    const int entries = visit_rows<F>(args, tile, [](int, const RowSegment&, int) {});
    if (threadIdx.x % 32 != 0) continue;
    args.list_lengths[tile] = padded_entries(static_cast<unsigned>(entries));
    args.occupied[tile] = entries > 0 ? 1 : 0;
  }
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) list_tiles(const __grid_constant__ TileStepArgs args) {
  for (long long tile = thread_in_grid() / 32; tile < args.tile_count; tile += threads_in_grid() / 32) {
    if (args.occupied[tile] == 0) continue;
    const long long number = args.numbers[tile];
    int* const shifts = args.row_shifts + number * args.tile_rows;
    const int entries = visit_rows<F>(
        args, tile, [&](int row, const RowSegment& segment, int before) { shifts[row] = segment.begin - before; });
    if (threadIdx.x % 32 != 0) continue;
    args.tiles[number] = {static_cast<unsigned>(tile / args.column_tiles),
                          static_cast<unsigned>(tile % args.column_tiles),
                          static_cast<unsigned>(args.first_entries[tile]), static_cast<unsigned>(entries)};
  }
}

/// After list_tiles: a thread for each nonzero.
template <class F>
__global__ void __launch_bounds__(F::config.threads) place_entries(const __grid_constant__ TileStepArgs args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const long long row = row_of<IntegerType::i32>(args.row_offsets, args.rows, i);
    const long long column = read_integer<integer_type(F::traits.index)>(args.column_indices, i);
    const long long tile = row / args.tile_rows * args.column_tiles + column / args.tile_columns;
    const long long row_in_tile = row % args.tile_rows;
    const int shift = args.row_shifts[args.numbers[tile] * static_cast<long long>(args.tile_rows) + row_in_tile];
    args.places[args.first_entries[tile] + i - shift] =
        static_cast<unsigned short>(row_in_tile * args.tile_columns + column % args.tile_columns);
  }
}

}  // namespace vostok
