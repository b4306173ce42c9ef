// What several blocks of nonzero_split have of a row, added in their order, and the row stored.
#pragma once

#include "abi/fixed.h"
#include "parts/dependent_launch.h"
#include "parts/shared.h"
#include "spmm/piece_places.h"
#include "spmm/pieces.h"
#include "spmm/row_output.h"
#include "spmm/tile_index.h"

namespace vostok {

template <class F>
struct SplitRowShared {
  SharedPiece<F> ranges[F::config.ranges];
};

/// The tails [first, end) of blocks that follow one another.
template <class F>
__device__ inline PieceSum<F> sum_of_tails(const PiecePlaces& places, const LaneColumns<F>& columns, unsigned first,
                                           unsigned end) {
  PieceSum<F> sum;
#pragma unroll 8
  for (unsigned block = first; block < end; ++block) sum.add(places.tail(block), columns);
  return sum;
}

/// A block of this grid for each of nonzero_split's: it takes the row that the other ended, where an earlier one began
/// it. Long rows are added in ranges of blocks, then the ranges are.
template <class F>
__global__ void __launch_bounds__(threads(F::config))
    nonzero_split_rows(const __grid_constant__ NonzeroSplitArgs args) {
  constexpr auto config = F::config;
  static_assert(sizeof(SplitRowShared<F>) == shared_bytes(config), "shared_bytes differs from the layout");
  const auto tile = TileIndex<F>::of_block(args.product);
  if (!tile.exists(args.product, 1, args.block_count)) return;
  const unsigned block = tile.row_tile;
  const unsigned first_chunk = block * args.chunks_per_block;
  const unsigned end_chunk =
      args.chunk_count - first_chunk < args.chunks_per_block ? args.chunk_count : first_chunk + args.chunks_per_block;
  const ChunkStart start = load_global(args.chunks + first_chunk);
  const ChunkStart stop = load_global(args.chunks + end_chunk);
  follow_previous_launch();  // also where no block has a row to add: the launch after this one waits for this one alone
  if (static_cast<unsigned>(start.first) == first_chunk || stop.row == start.row) return;

  auto& shared = dynamic_shared<SplitRowShared<F>>();
  const unsigned range = threadIdx.x / config.threads_per_row;
  const unsigned lane = threadIdx.x % config.threads_per_row;
  const LaneColumns<F> columns{tile.first_column(lane), args.product.n};
  const PiecePlaces places(args, tile.product);
  const unsigned first_block = static_cast<unsigned>(start.first) / args.chunks_per_block;
  const unsigned length = (block - first_block + config.ranges - 1) / config.ranges;
  const auto bound = [&](unsigned i) { return block - first_block < i * length ? block : first_block + i * length; };
  store_piece(sum_of_tails<F>(places, columns, bound(range), bound(range + 1)), shared.ranges[range], lane);
  __syncthreads();
  if (range > 0) return;

  PieceSum<F> sum;
#pragma unroll
  for (int i = 0; i < config.ranges; ++i) sum.add(shared.ranges[i], lane);
  sum.add(places.head(block), columns);
  store_row(sum, args.product, operands_of<F>(args.product, tile.product), columns, static_cast<unsigned>(start.row),
            true);
}

}  // namespace vostok
