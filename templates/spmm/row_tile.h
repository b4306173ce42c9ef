// SpMM of "Sparse GPU Kernels for Deep Learning" (Gale, Zaharia, Young, Elsen, SC20), section V: C = A B, A sparse.
//
// A block computes tile_rows rows by tile_columns columns of C (1-D tiling: a row is never split over blocks). A row
// belongs to row_split subwarps of threads_per_row lanes each; a lane owns chunks of dense_vector columns. The row's
// entries are taken tile_nonzeros at a time. Every sum is in f32.
//
// With slot_entries the columns of the first entries come from the row's slot (abi/row_slots.h), and with row_pieces
// the pieces of a long row are rows of a block of their own, whose sums are added up at the end.
//
// Elements that A lacks never touch B: steps that hold entries of other rows predicate their loads of B.
#pragma once

#include "abi/fixed.h"
#include "abi/row_tile.h"
#include "parts/dependent_launch.h"
#include "spmm/row_output.h"
#include "spmm/row_pieces.h"
#include "spmm/row_sum.h"
#include "spmm/slot_entries.h"
#include "spmm/staged_entries.h"
#include "spmm/tile_index.h"

namespace vostok {

template <class F, bool pieces = (F::config.row_pieces > 1)>
struct StagedBlock {
  StagedStep<F> rows[F::config.tile_rows];
};

template <class F>
struct StagedBlock<F, true> {
  StagedStep<F> rows[F::config.tile_rows];
  typename RowTotals<F>::Shared pieces[F::config.tile_rows];
};

/// The place in the row order that a row of a block's tile has. Neighbouring rows fill a tile, or, dealt, neighbouring
/// rows fill a warp and the warps of a block lie a whole grid apart.
template <class F>
__device__ inline unsigned row_slot(unsigned rows, unsigned row_tile, unsigned row_in_block) {
  constexpr unsigned tile_rows = F::config.tile_rows;
  if constexpr (!F::config.deal_rows) return row_tile * tile_rows + row_in_block;
  constexpr unsigned warp_rows = 32 / lanes_per_row(F::config);
  const unsigned row_tiles = (rows + tile_rows - 1) / tile_rows;
  return (row_in_block / warp_rows * row_tiles + row_tile) * warp_rows + row_in_block % warp_rows;
}

/// A row slot past the last row is an empty row: its lanes take part in synchronisation and do nothing else.
template <class F>
__device__ inline EntrySpan<F> row_span(const CsrProductArgs& args, unsigned row, bool exists) {
  if (!exists) return {0, 0, 0};
  return entry_span<F>(row_offset<F>(args, row), row_offset<F>(args, row + 1));
}

/// Adds the batches [batch, end), at least one; load(b) loads one of them. The loops stay rolled: unrolled, they would
/// issue the loads of all batches at once, and the config says how many are wanted.
template <class F, class Load>
__device__ inline void add_batches(RowSum<F>& sum, unsigned batch, unsigned end, Load load) {
  if constexpr (!F::config.overlap_batches) {
#pragma unroll 1
    for (; batch < end; ++batch) sum.add(load(batch));
  } else {
    auto even = load(batch);
#pragma unroll 1
    for (;;) {
      if (++batch == end) return sum.add(even);
      const auto odd = load(batch);
      sum.add(even);
      if (++batch == end) return sum.add(odd);
      even = load(batch);
      sum.add(odd);
    }
  }
}

/// Adds a step whose entries are all the row's own.
template <class F>
__device__ inline void add_whole(RowSum<F>& sum, const StagedEntries<F>& entries, unsigned subwarp) {
  constexpr int count = F::config.loads_in_flight;
  add_batches<F>(sum, 0, entries_per_lane(F::config) / count, [&](unsigned b) {
    return sum.load(entries.template read<count>(b, subwarp), [](int) { return true; });
  });
}

/// Adds the entries [own_begin, own_end) of a step that holds entries of other rows, or ends early.
template <class F>
__device__ inline void add_part(RowSum<F>& sum, const StagedEntries<F>& entries, unsigned own_begin, unsigned own_end,
                                unsigned subwarp) {
  constexpr int count = F::config.residue_unroll;
  constexpr unsigned batch_length = count * F::config.row_split;
  add_batches<F>(sum, own_begin / batch_length, (own_end + batch_length - 1) / batch_length, [&](unsigned b) {
    return sum.load(entries.template read<count>(b, subwarp), [&](int i) {
      const unsigned position = StagedBatch<F, count>::position(b, i, subwarp);
      return position >= own_begin && position < own_end;
    });
  });
}

/// Adds the entries of a slot. Of the first batch B is asked for before the values are there.
template <class F>
__device__ inline void add_slot(RowSum<F>& sum, const CsrProductArgs& args, SlotEntries<F>& slot,
                                const StagedEntries<F>& entries, const StagedStep<F>& step, unsigned subwarp) {
  constexpr auto config = F::config;
  constexpr int all = config.slot_entries / config.row_split;
  constexpr int wanted = config.residue_unroll * (config.overlap_batches ? 2 : 1);
  constexpr int count = wanted < all ? wanted : all;
  slot.publish_offsets(args);
  Batch<F, count> batch = {};
  StagedBatch<F, count>::read_offsets(args, step, 0, subwarp, batch.offsets);
  auto loaded = sum.load(batch, [&](int i) { return StagedBatch<F, count>::position(0, i, subwarp) < slot.count(); });
  slot.publish_values();
  StagedBatch<F, count>::read_values(step, 0, subwarp, loaded.values);
  sum.add(loaded);
  constexpr unsigned added = count * config.row_split;
  if (slot.count() > added) add_part(sum, entries, added, slot.count(), subwarp);
  if constexpr (F::traits.blocked_sum) sum.flush();
  __syncwarp();
}

/// Adds the entries of a run, a step after the other. With prefetch_sparse the first is being loaded.
template <class F>
__device__ inline void add_run(RowSum<F>& sum, StagedEntries<F>& entries, const EntrySpan<F>& span, unsigned subwarp) {
  constexpr auto config = F::config;
  constexpr unsigned step_length = config.tile_nonzeros;
  constexpr unsigned steps_per_flush = 256 / entries_per_lane(config);
  // The rows of a warp take the same number of steps, so that they synchronise together and stay converged.
  const unsigned steps = warp_maximum<lanes_per_row(config)>(
      static_cast<unsigned>((span.end - span.first + step_length - 1) / step_length));
  Position<F> start = span.first;
#pragma unroll 1
  for (unsigned step = 0; step < steps; ++step, start += step_length) {
    if (!config.prefetch_sparse) entries.load(start);
    entries.publish(start);
    if (config.prefetch_sparse) entries.load(start + step_length);
    if (start < span.end) {
      const unsigned own_begin = span.own_begin(start);
      const unsigned own_end = span.own_end(start, step_length);
      if (own_begin == 0 && own_end == step_length) add_whole(sum, entries, subwarp);
      else add_part(sum, entries, own_begin, own_end, subwarp);
    }
    entries.release();
    if constexpr (F::traits.blocked_sum)
      if (step % steps_per_flush == steps_per_flush - 1) sum.flush();
  }
}

/// The rows that the launch walks: those of A, or the slots.
template <class F>
__device__ inline unsigned walked_rows(const RowTileArgs& args) {
  if constexpr (F::config.slot_entries > 0) return args.slots.count;
  else return args.product.m;
}

/// What a row of a block turned out to be.
struct WalkedRow {
  unsigned row;
  unsigned pieces;  ///< of which this is one
  bool exists;
};

/// Adds a row's entries. Where they lie is looked up before the launch's wait.
template <class F>
__device__ inline WalkedRow multiply_row(RowSum<F>& sum, const RowTileArgs& args, const Operands<F>& operands,
                                         unsigned slot, bool exists, unsigned row_in_block, unsigned lane) {
  constexpr auto config = F::config;
  const CsrProductArgs& product = args.product;
  StagedStep<F>& step = dynamic_shared<StagedBlock<F>>().rows[row_in_block];
  const unsigned subwarp = lane / config.threads_per_row;
  if constexpr (config.slot_entries > 0) {
    SlotEntries<F> first(args.slots, slot, exists, step, lane);
    wait_for_previous_launch();
    first.load_values(operands);
    const EntrySpan<F> rest = first.rest();
    StagedEntries<F> entries(product, operands, rest, step, lane);
    if (config.prefetch_sparse) entries.load(rest.first);
    add_slot(sum, product, first, entries, step, subwarp);
    add_run(sum, entries, rest, subwarp);
    const RowRecord& record = first.record();
    return {static_cast<unsigned>(record.row), pieces_of(record), record.row >= 0};
  } else {
    unsigned row = slot;
    if constexpr (config.row_swizzle)
      if (exists) row = static_cast<unsigned>(load_global(args.row_order + slot));
    const EntrySpan<F> span = row_span<F>(product, row, exists);
    wait_for_previous_launch();
    StagedEntries<F> entries(product, operands, span, step, lane);
    if (config.prefetch_sparse) entries.load(span.first);
    add_run(sum, entries, span, subwarp);
    return {row, 1, exists};
  }
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    row_tile(const __grid_constant__ RowTileArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(StagedBlock<F>) == shared_bytes(F::traits, config), "shared_bytes differs from the layout");
  const CsrProductArgs& product = args.product;
  const auto tile = TileIndex<F>::of_block(product);
  const unsigned rows = walked_rows<F>(args);
  if (!tile.exists(product, config.tile_rows, rows)) return;

  const unsigned row_in_block = threadIdx.x / lanes_per_row(config);
  const unsigned lane = threadIdx.x % lanes_per_row(config);
  const unsigned slot = row_slot<F>(rows, tile.row_tile, row_in_block);
  const bool exists = slot < rows;

  const Operands<F> operands = operands_of<F>(product, tile.product);
  const LaneColumns<F> columns{tile.first_column(lane), product.n};
  RowSum<F> sum(product, operands, columns);
  // A matrix of zeros alone: nothing is read, and the order of rows does not matter.
  WalkedRow walked = {slot, 1, exists};
  if (product.nonzeros == 0) wait_for_previous_launch();
  else walked = multiply_row(sum, args, operands, slot, exists, row_in_block, lane);
  allow_next_launch();
  const bool stores = walked.exists && lane < config.threads_per_row;
  if constexpr (config.row_pieces > 1) {
    RowTotals<F> totals(sum);
    const bool first = totals.gather(dynamic_shared<StagedBlock<F>>().pieces, row_in_block, lane, walked.pieces);
    store_row(totals, product, operands, columns, walked.row, stores && first);
  } else {
    store_row(sum, product, operands, columns, walked.row, stores);
  }
}

}  // namespace vostok
