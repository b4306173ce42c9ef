// The shared memory of tensor_sample.
#pragma once

#include "abi/tensor_sample.h"
#include "parts/shared.h"
#include "parts/shared_address.h"
#include "sddmm/tile_info.h"

namespace vostok {

/// Parts of shared memory by their offsets.
template <class F>
class SampleShared {
  static constexpr auto config = F::config;
  static constexpr int stage_bytes = sample_stage_bytes(config);
  static constexpr int sums_begin = sums_follow_stages(config) ? config.stages * stage_bytes : 0;
  static constexpr int stages_end = config.stages * stage_bytes > sums_bytes(config) ? config.stages* stage_bytes
                                                                                     : sums_bytes(config);
  static constexpr int kept_begin = sums_follow_stages(config) ? sums_begin + sums_bytes(config) : stages_end;
  static constexpr int infos_begin = kept_begin + kept_bytes(config);
  static constexpr int end = infos_begin + tile_infos(config) * tile_info_bytes(F::traits, config);
  static_assert(end <= shared_bytes(F::traits, config), "shared_bytes differs from the layout");
  static_assert(sizeof(TileInfo<F>) == tile_info_bytes(F::traits, config), "tile_info_bytes differs from the layout");

 public:
  __device__ unsigned char* rhs(unsigned stage) { return bytes_ + stage * stage_bytes; }
  /// Where A goes by.
  __device__ unsigned char* lhs(unsigned stage) { return bytes_ + stage * stage_bytes + rhs_block_bytes(config); }
  /// Where A stays, or is on its way to registers.
  __device__ unsigned char* kept_lhs() { return bytes_ + (config.kept_blocks > 1 ? kept_begin : sums_begin); }
  __device__ float* sums() { return reinterpret_cast<float*>(bytes_ + sums_begin); }
  /// Of the tile of this number among the block's.
  __device__ TileInfo<F>& info(unsigned tile) {
    return *reinterpret_cast<TileInfo<F>*>(bytes_ + infos_begin +
                                           tile % tile_infos(config) * tile_info_bytes(F::traits, config));
  }

 private:
  alignas(128) unsigned char bytes_[shared_bytes(F::traits, config)];
};

}  // namespace vostok
