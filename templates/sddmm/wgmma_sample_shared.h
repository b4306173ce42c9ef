// The shared memory of wgmma_sample: a ring of stages, the tile's sums, what is known of tiles, where their strips
// begin, and barriers.
#pragma once

#include "abi/wgmma_sample.h"
#include "parts/mbarrier.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/shared_address.h"
#include "sddmm/tile_info.h"

namespace vostok {

template <class F>
struct WgmmaSampleMemory {
  alignas(1024) unsigned char bytes[(shared_bytes(F::traits, F::config) + 1023) / 1024 * 1024];
};

template <class F>
class WgmmaSampleShared {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr int stage_bytes = sample_stage_bytes(traits, config);
  static constexpr int sums_begin = sums_follow_stages(traits, config) ? config.stages * stage_bytes : 0;
  static constexpr int infos_begin = front_bytes(traits, config);
  static constexpr int info_bytes = tile_info_bytes(traits, config);
  static constexpr int infos = tile_infos(traits, config);
  static constexpr int strips_begin = infos_begin + infos * info_bytes;
  static constexpr int barriers_begin = strips_begin + infos * strip_begins_bytes(config);
  static_assert(sizeof(TileInfo<F>) == info_bytes, "tile_info_bytes differs from the layout");
  static_assert(barriers_begin + sample_barriers(traits, config) * static_cast<int>(barrier_bytes()) ==
                    shared_bytes(traits, config),
                "shared_bytes differs from the layout");

 public:
  __device__ WgmmaSampleShared()
      : bytes_(dynamic_shared<WgmmaSampleMemory<F>>().bytes), base_(shared_address(bytes_).at) {}

  /// Once, by one thread, before any other uses them.
  __device__ void initialise_barriers() const {
#pragma unroll
    for (unsigned stage = 0; stage < config.stages; ++stage) {
      initialise_barrier(full(stage), 1);
      initialise_barrier(empty(stage), consumer_warps(config));
      if constexpr (splits_operands(config)) initialise_barrier(split(stage), splitting_threads(config));
    }
#pragma unroll
    for (unsigned slot = 0; slot < infos; ++slot) {
      initialise_barrier(listed(slot), 1);
      initialise_barrier(found(slot), 32 + (sums_magnitudes(traits, config) ? splitting_threads(config) : 0));
      initialise_barrier(info_free(slot), 32 * consumer_warps(config));
    }
#pragma unroll
    for (unsigned warpgroup = 0; warpgroup < config.warpgroups; ++warpgroup) initialise_barrier(turn(warpgroup), 4);
    publish_barriers();
  }

  /// Shared addresses of a stage's parts, of B and of an A that goes by, and of its barriers.
  __device__ unsigned rhs(unsigned stage) const { return base_ + stage * stage_bytes; }
  __device__ unsigned lhs(unsigned stage) const { return rhs(stage) + rhs_block_bytes(config); }
  /// The low terms of B, where blocks split it.
  __device__ unsigned low_rhs(unsigned stage) const { return rhs(stage) + copied_stage_bytes(traits, config); }
  __device__ unsigned full(unsigned stage) const { return barrier(2 * stage); }
  __device__ unsigned empty(unsigned stage) const { return barrier(2 * stage + 1); }
  /// What is known of the slot's tile has come; it was found out where its strips begin, and how large its columns are;
  /// no warp needs it any more.
  __device__ unsigned listed(unsigned slot) const { return barrier(2 * config.stages + 3 * slot); }
  __device__ unsigned found(unsigned slot) const { return barrier(2 * config.stages + 3 * slot + 1); }
  __device__ unsigned info_free(unsigned slot) const { return barrier(2 * config.stages + 3 * slot + 2); }
  /// The warpgroup before has multiplied.
  __device__ unsigned turn(unsigned warpgroup) const { return barrier(2 * config.stages + 3 * infos + warpgroup); }
  /// The low terms of the stage's B are there.
  __device__ unsigned split(unsigned stage) const {
    return barrier(2 * config.stages + 3 * infos + config.warpgroups + stage);
  }

  __device__ float* sums() const { return reinterpret_cast<float*>(bytes_ + sums_begin); }
  __device__ TileInfo<F>& info(unsigned slot) const {
    return *reinterpret_cast<TileInfo<F>*>(bytes_ + infos_begin + slot * info_bytes);
  }
  /// The first entry of each strip of the slot's tile, and behind them the list's end.
  __device__ unsigned* strip_begins(unsigned slot) const {
    return reinterpret_cast<unsigned*>(bytes_ + strips_begin + slot * strip_begins_bytes(config));
  }

 private:
  __device__ unsigned barrier(unsigned number) const { return base_ + barriers_begin + number * barrier_bytes(); }

  unsigned char* bytes_;
  unsigned base_;
};

template <class F>
using StagePlace = RingPlace<F::config.stages>;
template <class F>
using InfoPlace = RingPlace<tile_infos(F::traits, F::config)>;

/// The tiles of the list that a block goes through: those behind the last that holds nonzeros are none.
struct TileShare {
  unsigned first;
  unsigned count;

  static __device__ TileShare of_block(const WgmmaSampleArgs& args) {
    const unsigned first = blockIdx.x * args.tiles_per_block;
    const unsigned all = args.sample.lists.tile_count;
    if (first >= all) return {first, 0};
    const unsigned left = all - first;
    return {first, left < args.tiles_per_block ? left : args.tiles_per_block};
  }
};

}  // namespace vostok
