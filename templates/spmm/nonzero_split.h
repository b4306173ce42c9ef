// SpMM by equal shares of nonzeros: C = A B, A sparse with rows of any lengths.
//
// A's nonzeros and row ends are cut into chunks (abi/chunk_start.h). A chunk belongs to threads_per_row lanes that lie
// side by side along the columns. They take its entries in batches: the rows of B that a batch names are loaded
// together, whichever rows of A its entries are of, and then multiplied row by row; a row that ends is stored. Every
// sum is in f32.
//
// Only rows of chunk_items nonzeros and more are cut, into pieces. The chunks of a block add theirs in shared memory,
// in order; what different blocks have of a row goes to the workspace, and nonzero_split_rows.h adds it, in order too.
//
// Elements that A lacks never touch B: what is loaded for entries of other chunks is nothing.
#pragma once

#include "abi/fixed.h"
#include "parts/dependent_launch.h"
#include "parts/shared.h"
#include "spmm/chunk_walk.h"
#include "spmm/piece_places.h"
#include "spmm/staged_entries.h"
#include "spmm/tile_index.h"

namespace vostok {

template <class F>
struct NonzeroSplitShared {
  StagedStep<F> steps[F::config.chunks_per_block];
  SharedPiece<F> heads[F::config.chunks_per_block];
  SharedPiece<F> tails[F::config.chunks_per_block];
};

/// Multiplies the chunk's part of a step: the entries [own_begin, own_end) of it. A chunk without entries has one such
/// part, in which its rows end.
template <class F>
__device__ inline void add_step(ChunkWalk<F>& walk, const StagedEntries<F>& entries, unsigned step_start,
                                unsigned own_begin, unsigned own_end) {
  constexpr unsigned count = F::config.loads_in_flight;
  /// Past the part's end nothing is loaded.
  const auto load = [&](unsigned batch) {
    const unsigned first = batch * count;
    const unsigned end = own_end < first + count ? own_end : first + count;
    const unsigned begin = own_begin > first ? own_begin : first;
    const unsigned mask = begin < end ? bits(begin - first, end - first) : 0;
    return walk.sum().load_some(entries.template read<count>(first < F::config.tile_nonzeros ? batch : 0, 0), mask);
  };
  unsigned batch = own_begin / count;
  if constexpr (!F::config.overlap_batches) {
#pragma unroll 1
    do {
      auto loaded = load(batch);
      walk.add(loaded, step_start + batch * count);
    } while (++batch * count < own_end);
  } else {
    auto even = load(batch);
#pragma unroll 1
    for (;;) {
      auto odd = load(batch + 1);
      walk.add(even, step_start + batch * count);
      if (++batch * count >= own_end) return;
      even = load(batch + 1);
      walk.add(odd, step_start + batch * count);
      if (++batch * count >= own_end) return;
    }
  }
}

template <class F>
__device__ inline void multiply_chunk(ChunkWalk<F>& walk, StagedEntries<F>& entries, const EntrySpan<F>& span) {
  constexpr auto config = F::config;
  constexpr unsigned step_length = config.tile_nonzeros;
  constexpr unsigned steps_per_flush = 256 / step_length;
  // The chunks of a warp take the same number of steps, so that they synchronise together and stay converged.
  const unsigned own_steps = span.end > span.first ? (span.end - span.first + step_length - 1) / step_length : 1;
  const unsigned steps = warp_maximum<config.threads_per_row>(own_steps);
  unsigned start = span.first;
  if (config.prefetch_sparse) entries.load(start);
#pragma unroll 1
  for (unsigned step = 0; step < steps; ++step, start += step_length) {
    if (!config.prefetch_sparse) entries.load(start);
    entries.publish(start);
    if (config.prefetch_sparse) entries.load(start + step_length);
    if (step < own_steps) add_step(walk, entries, start, span.own_begin(start), span.own_end(start, step_length));
    entries.release();
    if constexpr (keeps_totals(F::traits, config))
      if (step % steps_per_flush == steps_per_flush - 1) walk.sum().flush();
  }
}

/// Adds what the block's chunks have of cut rows: a row that the block begins and ends is stored, of others a piece is
/// left.
template <class F>
__device__ inline void join_pieces(const NonzeroSplitArgs& args, const Operands<F>& operands,
                                   const LaneColumns<F>& columns, const TileIndex<F>& tile, const Chunk& chunk,
                                   unsigned chunk_in_block, unsigned lane) {
  auto& shared = dynamic_shared<NonzeroSplitShared<F>>();
  const unsigned block_start = tile.row_tile * F::config.chunks_per_block;
  const PiecePlaces places(args, tile.product);
  /// The tails of the chunks from the one in which the row begins, as far as it is of this block.
  const auto tails = [&](const ChunkStart& of_row, unsigned end) {
    const auto first = static_cast<unsigned>(of_row.first);
    PieceSum<F> sum;
    for (unsigned i = first > block_start ? first - block_start : 0; i < end; ++i) sum.add(shared.tails[i], lane);
    return sum;
  };
  if (chunk.continues_row && chunk.row_ends() > 0) {
    PieceSum<F> sum = tails(chunk.start, chunk_in_block);
    sum.add(shared.heads[chunk_in_block], lane);
    if (static_cast<unsigned>(chunk.start.first) < block_start) store_piece(sum, places.head(tile.row_tile), columns);
    else store_row(sum, args.product, operands, columns, static_cast<unsigned>(chunk.start.row), true);
  }
  if (chunk.leaves_row && chunk_in_block == F::config.chunks_per_block - 1)
    store_piece(tails(chunk.stop, F::config.chunks_per_block), places.tail(tile.row_tile), columns);
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    nonzero_split(const __grid_constant__ NonzeroSplitArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(NonzeroSplitShared<F>) == shared_bytes(F::traits, config),
                "shared_bytes differs from the layout");
  const CsrProductArgs& product = args.product;
  const auto tile = TileIndex<F>::of_block(product);
  if (!tile.exists(product, 1, args.block_count)) return;

  auto& shared = dynamic_shared<NonzeroSplitShared<F>>();
  const unsigned chunk_in_block = threadIdx.x / config.threads_per_row;
  const unsigned lane = threadIdx.x % config.threads_per_row;
  const Chunk chunk = Chunk::load(args, tile.row_tile * config.chunks_per_block + chunk_in_block);
  wait_for_previous_launch();
  const Operands<F> operands = operands_of<F>(product, tile.product);
  const LaneColumns<F> columns{tile.first_column(lane), product.n};
  const EntrySpan<F> span =
      entry_span<F>(static_cast<unsigned>(chunk.start.position), static_cast<unsigned>(chunk.stop.position));
  StagedEntries<F> entries(product, operands, span, shared.steps[chunk_in_block], lane);
  ChunkWalk<F> walk(product, operands, columns, chunk, shared.heads[chunk_in_block], lane);
  multiply_chunk(walk, entries, span);
  allow_next_launch();

  if (!args.cuts_rows) return;
  if (chunk.leaves_row) store_piece(walk.sum(), shared.tails[chunk_in_block], lane);
  __syncthreads();
  join_pieces<F>(args, operands, columns, tile, chunk, chunk_in_block, lane);
}

}  // namespace vostok
