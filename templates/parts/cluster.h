// Clusters of blocks (sm_90): they run at the same time, and reach each other's shared memory. PTX only: the emulator
// does not have them.
#pragma once

#include "parts/vector.h"

namespace vostok {

/// Whole warps arrive, and then wait for every thread of the cluster that has not ended. What they read before they are
/// through with. It orders no stores: what threads hand one another after it, barriers count.
__device__ inline void arrive_at_cluster() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

/// The address, for the stores below, of what lies at `shared` in block `rank` of the cluster.
__device__ inline unsigned address_in_block(unsigned shared, unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}

/// Sends 16 bytes, which that block's `barrier` counts once they are there.
__device__ inline void send_four(unsigned address, const Vector<float, 4>& v, unsigned barrier) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "f"(v.at[0]), "f"(v.at[1]), "f"(v.at[2]), "f"(v.at[3]), "r"(barrier)
      : "memory");
}

/// Waits until the phase of this parity has completed (parts/mbarrier.h): what other blocks sent is then here.
__device__ inline void wait_for_sent(unsigned barrier, unsigned parity) {
  unsigned done;
  do {
    asm volatile(
        "{ .reg .pred complete; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [%1], %2; selp.u32 "
        "%0, 1, 0, complete; }"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

}  // namespace vostok
