// What row_tile demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons;
// these are for whoever writes an expression by hand.
#pragma once

#include "abi/row_tile.h"
#include "parts/power_of_two.h"

namespace vostok {

template <class F>
struct RowTileRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static_assert(is_power_of_two(c.threads_per_row) && is_power_of_two(c.row_split), "threads_per_row and row_split are powers of two");
  static_assert(lanes_per_row(c) <= 32, "the subwarps of a row lie in one warp: threads_per_row * row_split is at most 32");
  static_assert(threads(c) % 32 == 0 && threads(c) <= 1024, "a block has whole warps and at most 1024 threads");
  static_assert(is_power_of_two(c.dense_vector) && c.dense_vector * size_of(t.element) <= 16, "dense_vector is a power of two of at most 16 bytes");
  static_assert(c.dense_vector * size_of(t.element) <= read_alignment(t, c), "dense_vector is wider than the alignment of B");
  static_assert(t.output_layout == Layout::column_major || store_alignment(t, c) <= t.output_alignment,
                "dense_vector is wider than the alignment of C");
  static_assert(!reads_columns(t, c) || c.dense_vector == 1, "a B that is read as columns has no neighbouring columns: dense_vector is 1");
  static_assert(!c.prepare_dense || t.dense_layout == Layout::column_major, "prepare_dense transposes a column-major B");
  static_assert(!c.pack_values || t.gathered_values, "pack_values gathers the values of a transposed A");
  static_assert(is_power_of_two(c.sparse_vector) && c.sparse_vector <= 8, "sparse_vector is 1, 2, 4 or 8");
  static_assert(c.sparse_vector == 1 || c.reverse_offset_alignment, "rows start anywhere: a sparse_vector above 1 needs reverse_offset_alignment");
  static_assert(c.tile_columns % (c.threads_per_row * c.dense_vector) == 0, "tile_columns is a multiple of threads_per_row * dense_vector");
  static_assert(c.tile_columns > 0, "tile_columns is positive");
  static_assert(is_power_of_two(c.tile_nonzeros) && entries_per_lane(c) >= 1 && entries_per_lane(c) <= 256, "a lane takes 1 to 256 entries per step");
  static_assert(is_power_of_two(c.loads_in_flight) && c.loads_in_flight <= entries_per_lane(c), "loads_in_flight divides a lane's entries per step");
  static_assert(is_power_of_two(c.residue_unroll) && c.residue_unroll <= entries_per_lane(c), "residue_unroll divides a lane's entries per step");
  static_assert(c.tile_nonzeros >= c.sparse_vector, "a step holds at least one sparse_vector");
  static_assert(c.tile_nonzeros >= 4, "a step has at least four entries: shared memory is read sixteen bytes at a time");
  static_assert(c.slot_entries == 0 || (is_power_of_two(c.slot_entries) && c.slot_entries <= c.tile_nonzeros && c.slot_entries >= lanes_per_row(c)),
                "slot_entries is a power of two from lanes_per_row to tile_nonzeros, or 0");
  static_assert(c.slot_entries == 0 || c.slot_entries >= c.row_split * c.residue_unroll,
                "a slot has residue_unroll entries for each of row_split lanes");
  static_assert(is_power_of_two(c.row_pieces) && c.tile_rows % c.row_pieces == 0 && c.row_pieces <= 128,
                "row_pieces is a power of two that divides tile_rows");
  static_assert(c.row_pieces == 1 || (c.slot_entries > 0 && !c.deal_rows && c.tile_columns % 4 == 0),
                "pieces have slots, neighbours in a block, and tiles of whole 16 bytes");
  static_assert(c.slot_entries == 0 || (c.row_swizzle && !gathers_values(t, c)), "slots lie in the row order, and their values in CSR order");
  static_assert(c.min_blocks >= 1, "min_blocks is at least 1");
};

}  // namespace vostok
