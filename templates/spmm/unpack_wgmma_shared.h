// The shared memory of unpack_wgmma: a ring of stages.
#pragma once

#include "abi/unpack_wgmma.h"
#include "parts/mbarrier.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/shared_address.h"
#include "spmm/unpack_tile.h"

namespace vostok {

template <class F>
struct UnpackWgmmaMemory {
  alignas(1024) unsigned char bytes[(shared_bytes(F::traits, F::config) + 1023) / 1024 * 1024];
};

/// k blocks of B in shared memory: those of the stages, or in rooms of their own where B stays.
template <class Config>
constexpr int dense_stages(const Config& config) {
  return dense_rooms(config) > 0 ? dense_rooms(config) : config.stages;
}
/// A place in their ring.
template <class F>
using DensePlace = RingPlace<dense_stages(F::config)>;

/// Addresses of the parts of each stage: B, its scales, strips, and the barriers that say that a stage is full, or
/// empty again. Strips that are kept have rooms of their own, by k block, and so has a B that stays, with barriers:
/// stages are of strips alone there, and each warpgroup's part of them has a ring of its own.
template <class F>
class UnpackWgmmaStages {
  static constexpr auto config = F::config;
  static constexpr unsigned dense_bytes = dense_stage_bytes(F::traits, config);
  static constexpr unsigned scale_bytes = column_scale_bytes(config);
  static constexpr unsigned strip_bytes = strip_stage_bytes(config);
  static constexpr unsigned batch_bytes = left_batch_bytes(config);
  static constexpr unsigned batch_count = left_collectors(config) * left_batches();
  static constexpr unsigned unit_count = copied_units(config);
  static constexpr bool keeps_dense = dense_rooms(config) > 0;
  static constexpr unsigned dense_count = dense_stages(config);
  static constexpr unsigned units_begin = dense_count * dense_bytes;
  static constexpr unsigned batches_begin = units_begin + unit_count * copied_unit_bytes();
  static constexpr unsigned strips_begin = batches_begin + batch_count * batch_bytes;
  static constexpr bool keeps = kept_blocks(config) > 0;
  static constexpr unsigned strip_rooms = keeps ? kept_blocks(config) : config.stages;
  static constexpr unsigned scales_begin = strips_begin + strip_rooms * strip_bytes;
  static constexpr unsigned scratch_begin = scales_begin + dense_count * scale_bytes;
  static constexpr unsigned lists_begin = scratch_begin + consumer_warps(config) * left_scratch_bytes(config);
  static constexpr unsigned batch_barriers_begin = lists_begin + batch_count * left_list_bytes();
  static constexpr unsigned unit_barriers_begin = batch_barriers_begin + batch_count * 2 * barrier_bytes();
  static constexpr unsigned barriers_begin = unit_barriers_begin + unit_count * barrier_bytes();
  static_assert(dense_bytes % 1024 == 0 && strips_begin % 1024 == 0, "swizzled lines repeat every 1024 bytes");
  static constexpr unsigned rings = strip_rings(config);
  static constexpr unsigned stage_pairs = config.stages * rings;
  static constexpr unsigned dense_pairs = stage_pairs + (keeps ? 1 : 0);  ///< before those of B's rooms
  static constexpr unsigned barriers = 2 * (dense_pairs + dense_rooms(config));
  static_assert(barriers_begin + barriers * barrier_bytes() + tile_parts(config).barrier_bytes() ==
                    shared_bytes(F::traits, config),
                "shared_bytes differs from the layout");

 public:
  __device__ UnpackWgmmaStages() : base_(shared_address(dynamic_shared<UnpackWgmmaMemory<F>>().bytes).at) {}

  /// By stage, or by room where B stays.
  __device__ unsigned dense(unsigned stage) const { return base_ + stage * dense_bytes; }
  __device__ unsigned scales(unsigned stage) const { return base_ + scales_begin + stage * scale_bytes; }
  __device__ unsigned dense_full(unsigned stage) const { return pair(keeps_dense ? dense_pairs + stage : stage); }
  __device__ unsigned dense_empty(unsigned stage) const { return dense_full(stage) + barrier_bytes(); }
  __device__ unsigned strips(unsigned stage) const { return base_ + strips_begin + stage * strip_bytes; }
  __device__ unsigned full(unsigned stage, unsigned ring = 0) const { return pair(stage * rings + ring); }
  __device__ unsigned empty(unsigned stage, unsigned ring = 0) const { return full(stage, ring) + barrier_bytes(); }
  /// A unit to split, as it lies in global memory, and the barrier that says that it has come.
  __device__ unsigned unit(unsigned i) const { return base_ + units_begin + i * copied_unit_bytes(); }
  __device__ unsigned unit_full(unsigned i) const { return base_ + unit_barriers_begin + i * barrier_bytes(); }
  /// Batches of a warpgroup: rows of B, the list of entries, and the barriers that say that a batch is ready, or free
  /// again.
  __device__ unsigned batch(unsigned warpgroup, unsigned i) const {
    return base_ + batches_begin + (warpgroup * left_batches() + i) * batch_bytes;
  }
  __device__ unsigned batch_list(unsigned warpgroup, unsigned i) const {
    return base_ + lists_begin + (warpgroup * left_batches() + i) * left_list_bytes();
  }
  __device__ unsigned ready_batch(unsigned warpgroup, unsigned i) const {
    return base_ + batch_barriers_begin + (warpgroup * left_batches() + i) * 2 * barrier_bytes();
  }
  __device__ unsigned free_batch(unsigned warpgroup, unsigned i) const {
    return ready_batch(warpgroup, i) + barrier_bytes();
  }
  /// A row of a warp that multiplies.
  __device__ unsigned scratch(unsigned warp) const { return base_ + scratch_begin + warp * left_scratch_bytes(config); }
  /// Strips that are kept have come; have been unpacked, so that those of another row tile may come.
  __device__ unsigned kept_full() const { return pair(stage_pairs); }
  __device__ unsigned kept_empty() const { return kept_full() + barrier_bytes(); }
  /// What the other blocks of the cluster send has come.
  __device__ unsigned sent() const { return pair(stage_pairs); }

 private:
  __device__ unsigned pair(unsigned i) const { return base_ + barriers_begin + i * 2 * barrier_bytes(); }

  unsigned base_;
};

/// Waits until the stage is empty: at once in the ring's first round.
template <class F>
__device__ inline void wait_empty(const UnpackWgmmaStages<F>& stages, const RingPlace<F::config.stages>& place,
                                  unsigned ring = 0) {
  wait_barrier(stages.empty(place.stage, ring), place.parity ^ 1);
}
template <class F>
__device__ inline void wait_dense_empty(const UnpackWgmmaStages<F>& stages, const DensePlace<F>& place) {
  wait_barrier(stages.dense_empty(place.stage), place.parity ^ 1);
}

}  // namespace vostok
