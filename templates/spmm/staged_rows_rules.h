// What staged_rows demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons; these are
// for whoever writes an expression by hand.
#pragma once

#include "abi/staged_rows.h"
#include "parts/power_of_two.h"

namespace vostok {

template <class F>
struct StagedRowsRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static_assert(!t.wide_nonzeros, "the starts of panels have 32 bits");
  static_assert(is_power_of_two(c.threads_per_row) && c.threads_per_row <= 32, "the lanes of a row lie in one warp: threads_per_row is 1 to 32");
  static_assert(is_power_of_two(c.dense_vector) && c.dense_vector * size_of(t.element) <= 16, "dense_vector is a power of two of at most 16 bytes");
  static_assert(c.dense_vector * size_of(t.element) <= read_alignment(t, c), "dense_vector is wider than the alignment of B");
  static_assert(t.output_layout == Layout::column_major || store_alignment(t, c) <= t.output_alignment,
                "dense_vector is wider than the alignment of C");
  static_assert(!reads_columns(t, c), "panels are rows of B: prepare_dense transposes a column-major one");
  static_assert(!c.prepare_dense || t.dense_layout == Layout::column_major, "prepare_dense transposes a column-major B");
  static_assert(!c.pack_values || t.gathered_values, "pack_values gathers the values of a transposed A");
  static_assert(c.tile_columns > 0 && c.tile_columns % (c.threads_per_row * c.dense_vector) == 0,
                "tile_columns is a multiple of threads_per_row * dense_vector");
  static_assert(panel_bytes(t, c) % 16 == 0, "a panel is a multiple of 16 bytes");
  static_assert(c.column_edge != ColumnEdge::predicated, "no lane loads B by itself: column_edge is clamped or unchecked");
  static_assert(c.warps >= 1 && c.warps <= 32, "a block has 1 to 32 warps");
  static_assert(c.rows_per_lane >= 1 && c.rows_per_lane <= c.threads_per_row, "a warp has at most 32 rows: rows_per_lane is 1 to threads_per_row");
  static_assert(c.panel_rows >= 1, "panel_rows is positive");
  static_assert(c.stages >= 1, "stages is positive");
  static_assert(c.tile_nonzeros >= 2 && c.tile_nonzeros <= 256 && c.tile_nonzeros % 2 == 0,
                "entries are staged in pairs, and a block of sums has at most 256: tile_nonzeros is even, 2 to 256");
  static_assert(is_power_of_two(c.loads_in_flight) && c.loads_in_flight <= 16, "loads_in_flight is a power of two of at most 16");
  static_assert(c.k_split >= 1, "k_split is positive");
  static_assert(c.min_blocks >= 1, "min_blocks is at least 1");
};

}  // namespace vostok
