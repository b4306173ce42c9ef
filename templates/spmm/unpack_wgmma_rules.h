// What a config of unpack_wgmma must be, as sentences. The host's rules guard the same, and what only the problem or device knows.
#pragma once

#include "abi/unpack_wgmma.h"

namespace vostok {

template <class F>
struct UnpackWgmmaRules {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr bool one_term = packed_pair_words(config.mode) == 1;

  static_assert(config.warpgroups == 1 || config.warpgroups == 2 || config.warpgroups == 4, "warpgroups is 1, 2 or 4");
  static_assert(config.k_groups == 1 || ((config.k_groups == 2 || config.k_groups == 4) && config.warpgroups * config.k_groups <= 4),
                "k_groups is 1, 2 or 4, and all groups have 4 warpgroups at most");
  // Parities tell two rounds of a stage apart. A group that comes to a stage must have been there in the round before: copies that were queued
  // in order need not arrive in order.
  static_assert(config.stages % config.k_groups == 0, "a stage belongs to one group");
  static_assert(config.stages >= config.k_groups * (config.overlap ? 2 : 1), "a group holds one stage, and takes its next one where it overlaps");
  static_assert(config.tile_columns >= 8 && config.tile_columns <= 256 && (config.tile_columns & (config.tile_columns - 1)) == 0,
                "tile_columns is a power of two from 8 to 256");
  static_assert(config.stages >= 2 && config.stages <= 8, "stages is 2 to 8");
  static_assert(config.strip_pairs >= 16 && config.strip_pairs <= packed_most(config.grain),
                "strip_pairs is 16 to 512, to 256 where a pair is two of four columns");
  static_assert(config.k_split >= 1, "k is cut into at least one slice");
  static_assert(!config.cluster_sums || (config.k_split > 1 && config.k_split <= most_cluster_blocks()), "a cluster has 2 to 8 slices");
  static_assert(config.producer_warps == 1 || config.producer_warps == 4 || (config.producer_warps == 8 && splits_dense(config)),
                "producer_warps is 1 or 4, or 8 where they split B");
  static_assert(!splits_dense(config) ||
                    (config.producer_warps >= 4 && config.tile_columns >= split_unit_columns() && config.stages % split_block_step(config) == 0),
                "four warps or eight split tiles of 32 columns or more, each in turn with others stages of its own");
  static_assert(!splits_dense(config) || launch_registers(config) >= splitting_registers(), "threads that split B are launched with their registers");
  static_assert(!config.tensor_copies || !config.prepare_dense, "a B that was prepared is not copied by a tensor map");
  static_assert(config.raster_rows >= 1, "raster_rows is at least 1");
  static_assert(traits.element == Dtype::f32 ? !config.tensor_copies
                                             : config.mode == (traits.element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1),
                "an f32 B is split, and a 16-bit one is multiplied as it is");
  static_assert(config.mode != PackedMode::f16x3 || config.promotion_blocks == 1 ||
                    (config.promotion_blocks == 2 && config.k_groups == 1 && config.prepare_dense),
                "columns have scales: f16x3 promotes after each k block, or after two, which one group multiplies and a launch before split");
  static_assert(!traits.long_sums || config.mode == PackedMode::f16x3, "sums are set aside where columns have scales");
};

}  // namespace vostok
