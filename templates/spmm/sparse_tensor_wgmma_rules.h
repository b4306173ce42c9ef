// What a config of sparse_tensor_wgmma must be, as sentences. The host's rules guard the same, and what only the problem or device knows.
#pragma once

#include "abi/sparse_tensor_wgmma.h"

namespace vostok {

template <class F>
struct SparseTensorWgmmaRules {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;

  static_assert(traits.element == Dtype::f16 || traits.element == Dtype::bf16, "elements have 16 bits");
  static_assert(traits.dense_alignment >= 16, "lines of B start at the 16 bytes of a copy");
  static_assert(config.warpgroups == 1 || config.warpgroups == 2 || config.warpgroups == 4, "warpgroups is 1, 2 or 4");
  static_assert(config.tile_columns == 64 || config.tile_columns == 128 || config.tile_columns == 256, "tile_columns is 64, 128 or 256");
  static_assert(config.stages >= 2 && config.stages <= 8, "stages is 2 to 8");
  static_assert(config.strip_passes >= 1 && config.strip_passes <= sparse_steps() * sparse_most_passes(), "strip_passes is 1 to 4");
  static_assert(config.producer_warps == 4 || (config.producer_warps == 1 && config.tensor_copies && config.warpgroups == 1),
                "four warps copy, or one where the copy engine does and warpgroups exchange no registers");
  static_assert(!config.cluster_sums || (config.k_split > 1 && config.k_split <= most_cluster_blocks()), "a cluster has 2 to 8 slices");
  static_assert(config.k_split >= 1 && config.raster_rows >= 1 && config.min_blocks >= 1, "k_split, raster_rows and min_blocks are at least 1");
};

}  // namespace vostok
