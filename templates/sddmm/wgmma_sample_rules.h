// What wgmma_sample demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons.
#pragma once

#include "abi/wgmma_sample.h"
#include "parts/power_of_two.h"

namespace vostok {

template <class F>
struct WgmmaSampleRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static_assert(t.element == Dtype::f32 || c.mode == (t.element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1),
                "16-bit elements are multiplied in their own mode");
  static_assert(c.warpgroups >= 1 && c.warpgroups <= 3, "1 to 3 warpgroups multiply");
  static_assert(is_power_of_two(c.tile_columns) && c.tile_columns >= 32 && c.tile_columns <= 256, "tile_columns is a power of two from 32 to 256");
  static_assert(c.stages >= 2 && c.stages <= 8, "there are 2 to 8 stages");
  static_assert(c.waves >= 0, "waves is at least 0");
  static_assert(c.list_room >= 8 && c.list_room % 8 == 0, "lists are staged in chunks of eight entries");
  static_assert(is_power_of_two(c.n_split) && (c.n_split == 1 || !t.one_block), "n_split is a power of two; one n block is not cut");
  static_assert(c.min_blocks >= 1, "min_blocks is at least 1");
};

}  // namespace vostok
