// One contiguous copy from global to shared memory by the copy engine (cp.async.bulk, sm_90). PTX only.
#pragma once

namespace vostok {

/// Queues the copy; its bytes count as arrived at `barrier` when they are there. Both addresses and `bytes` are multiples of 16.
__device__ inline void copy_bulk(unsigned shared, const void* global, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared), "l"(global), "r"(bytes),
               "r"(barrier)
               : "memory");
}

}  // namespace vostok
