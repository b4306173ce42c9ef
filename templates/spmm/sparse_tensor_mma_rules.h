// What sparse_tensor_mma demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons;
// these are for whoever writes an expression by hand.
#pragma once

#include "abi/sparse_tensor_mma.h"

namespace vostok {

template <class F>
struct SparseTensorMmaRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static constexpr bool power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }
  static_assert(t.element == Dtype::f16 || t.element == Dtype::bf16, "elements have 16 bits");
  static_assert(power_of_two(c.row_warps) && power_of_two(c.column_warps) && threads(c) <= 1024, "a block has a power of two of 1 to 32 warps");
  static_assert(power_of_two(c.warp_strips) && tile_strips(c) <= packed_row_strip_multiple(), "a tile has 1, 2, 4, 8 or 16 strips");
  static_assert(power_of_two(c.warp_columns) && c.warp_columns >= 8 && c.warp_columns <= 128, "warp_columns is a power of two from 8 to 128");
  static_assert(tile_columns(c) <= 256, "a tile has at most 256 columns");
  static_assert(c.stages >= 2 && c.stages <= 8, "stages is 2 to 8");
  static_assert(c.strip_passes >= 1 && c.strip_passes <= sparse_steps() * sparse_most_passes(), "strip_passes is 1 to 4");
  static_assert(c.k_split >= 1 && c.raster_rows >= 1 && c.min_blocks >= 1, "k_split, raster_rows and min_blocks are at least 1");
};

}  // namespace vostok
