// What tensor_sample demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons;
// these are for whoever writes an expression by hand.
#pragma once

#include "abi/tensor_sample.h"
#include "parts/power_of_two.h"

namespace vostok {

template <class F>
struct TensorSampleRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static_assert(t.element == Dtype::f32 || c.mode == (t.element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1),
                "16-bit elements are multiplied in their own mode");
  static_assert(c.warp_rows > 0 && c.warp_rows % 16 == 0 && c.warp_columns > 0 && c.warp_columns % 16 == 0,
                "a warp has multiples of 16 rows and of 16 columns");
  static_assert(threads(c) >= 32 && threads(c) <= 1024, "a block has 1 to 32 warps");
  static_assert(tile_rows(c) % 32 == 0 && is_power_of_two(tile_columns(c)) && tile_columns(c) >= 32 && tile_rows(c) * tile_columns(c) <= 1 << 16,
                "a tile has a multiple of 32 rows, a power of two of at least 32 columns, and at most 2^16 elements");
  static_assert(c.stages >= 2 && c.stages <= 8, "there are 2 to 8 stages");
  static_assert(c.promotion_steps == 0 || c.promotion_steps == 1 || c.promotion_steps == 2 || c.promotion_steps == 4,
                "sums are taken out after 1, 2 or 4 steps, or never");
  static_assert(!c.low_first || (sample_terms(c.mode) == 2 && (c.promotion_steps == 0 || c.promotion_steps == steps_of_block())),
                "low products come first in whole n blocks, where there are any");
  static_assert(c.tiles_per_block >= 1, "a block has at least one tile");
  static_assert(c.kept_blocks >= 0 && (c.kept_blocks == 0 || (c.tiles_per_block > 1 && c.n_split == 1)),
                "A is kept where a block has several tiles and all of n");
  static_assert(c.kept_blocks != 1 || t.one_block, "A's tile stays in registers where n is one block");
  static_assert(c.list_room >= 8 && c.list_room % 8 == 0, "lists are staged in chunks of eight entries");
  static_assert(is_power_of_two(c.n_split) && (c.n_split == 1 || !t.one_block), "n_split is a power of two; one n block is not cut");
  static_assert(c.min_blocks >= 1, "min_blocks is at least 1");
};

}  // namespace vostok
