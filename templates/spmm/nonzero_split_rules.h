// What nonzero_split demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons;
// these are for whoever writes an expression by hand.
#pragma once

#include "abi/nonzero_split.h"
#include "parts/power_of_two.h"

namespace vostok {

template <class F>
struct NonzeroSplitRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static_assert(!t.wide_nonzeros, "chunks number their nonzeros in 32 bits");
  static_assert(c.chunk_items >= 1, "chunk_items is positive");
  static_assert(is_power_of_two(c.threads_per_row) && c.threads_per_row <= 32, "the lanes of a chunk lie in one warp: threads_per_row is 1 to 32");
  static_assert(threads(c) > 0 && threads(c) % 32 == 0 && threads(c) <= 1024, "a block has whole warps and at most 1024 threads");
  static_assert(is_power_of_two(c.dense_vector) && c.dense_vector * size_of(t.element) <= 16, "dense_vector is a power of two of at most 16 bytes");
  static_assert(c.dense_vector * size_of(t.element) <= read_alignment(t, c), "dense_vector is wider than the alignment of B");
  static_assert(t.output_layout == Layout::column_major || store_alignment(t, c) <= t.output_alignment,
                "dense_vector is wider than the alignment of C");
  static_assert(!reads_columns(t, c) || c.dense_vector == 1, "a B that is read as columns has no neighbouring columns: dense_vector is 1");
  static_assert(!c.prepare_dense || t.dense_layout == Layout::column_major, "prepare_dense transposes a column-major B");
  static_assert(!c.pack_values || t.gathered_values, "pack_values gathers the values of a transposed A");
  static_assert(is_power_of_two(c.sparse_vector) && c.sparse_vector <= 8, "sparse_vector is 1, 2, 4 or 8");
  static_assert(c.tile_columns > 0 && c.tile_columns % (c.threads_per_row * c.dense_vector) == 0,
                "tile_columns is a multiple of threads_per_row * dense_vector");
  static_assert(is_power_of_two(c.tile_nonzeros) && c.tile_nonzeros >= 4 && c.tile_nonzeros >= c.sparse_vector && c.tile_nonzeros <= 256,
                "tile_nonzeros is a power of two from 4 and sparse_vector to 256");
  static_assert(is_power_of_two(c.loads_in_flight) && c.loads_in_flight <= c.tile_nonzeros && c.loads_in_flight <= 16,
                "loads_in_flight divides tile_nonzeros and is at most 16");
  static_assert(c.min_blocks >= 1, "min_blocks is at least 1");
};

}  // namespace vostok
