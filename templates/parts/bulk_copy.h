// Copies from global memory to shared addresses: one contiguous range by the copy engine (cp.async.bulk, sm_90), or 16
// bytes of a thread. PTX only.
#pragma once

namespace vostok {

/// Queues the copy; its bytes count as arrived at `barrier` when they are there. Both addresses and `bytes` are
/// multiples of 16. `once`: nobody reads the range again soon, so that in L2 it gives way to what is not.
template <bool once = false>
__device__ inline void copy_bulk(unsigned shared, const void* global, unsigned bytes, unsigned barrier) {
  if constexpr (once) {
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
            "r"(shared),
        "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(global), "r"(bytes), "r"(barrier)
        : "memory");
  }
}

/// 16 bytes by cp.async, which the calling thread waits for or arrives after: `valid` of them, and zeros.
__device__ inline void copy_async_at(unsigned shared, const void* global, int valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(valid) : "memory");
}

}  // namespace vostok
