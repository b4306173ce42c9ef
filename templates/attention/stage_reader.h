// How a warpgroup of fused_wgmma goes through the ring of stages: it waits for keys and for values, and releases them.
#pragma once

#include "abi/fused_wgmma.h"
#include "attention/wgmma_stages.h"
#include "parts/mbarrier.h"
#include "parts/ring_place.h"

namespace vostok {

template <class F>
struct StageReader {
  static constexpr bool apart = F::config.values_apart;
  /// Every lane, of what it read itself: exponents of terms. Else one of each warp.
  static constexpr bool lanes_release = F::traits.terms > 0;
  const AttentionStages<F>& stages;
  RingPlace<F::config.stages>& ring;

  __device__ unsigned stage() const { return stages.stage(ring.stage); }

  __device__ void wait_keys() const {
    wait_barrier(stages.full(ring.stage), ring.parity);
    publish_to_async_proxy();
  }
  __device__ void wait_values(const RingPlace<F::config.stages>& of) const {
    if constexpr (!apart) return;  // they have come with the keys
    wait_barrier(stages.values_full(of.stage), of.parity);
    publish_to_async_proxy();
  }

  __device__ void release_keys() const {
    if (apart && (lanes_release || threadIdx.x % 32 == 0)) arrive(stages.empty(ring.stage));
  }
  __device__ void release_values(unsigned stage) const {
    if ((lanes_release && !apart) || threadIdx.x % 32 == 0) arrive(stages.values_empty(stage));
  }

  /// Goes on by so many stages that others read. One that is not awaited would be released for the tile before.
  __device__ void skip(int count) const {
    if constexpr (!F::config.skips_tiles) return;
#pragma unroll 1
    for (; count > 0; --count) {
      wait_barrier(stages.full(ring.stage), ring.parity);
      release_keys();
      if constexpr (apart) wait_barrier(stages.values_full(ring.stage), ring.parity);
      release_values(ring.stage);
      ring.advance();
    }
  }
};

}  // namespace vostok
