// Barriers in shared memory that count arrivals and bytes (mbarrier, sm_90). PTX only: the emulator does not have them.
//
// A phase completes when `count` arrivals were made and every expected byte has come. A fresh barrier is in phase 0:
// waiting for parity 0 waits for its first completion, waiting for parity 1 returns at once.
#pragma once

namespace vostok {

/// Bytes of one barrier, and its alignment. Barriers are named by their shared address.
consteval unsigned barrier_bytes() { return 8; }

__device__ inline void initialise_barrier(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

/// Makes what this thread initialised visible to copies that run beside the threads; other threads see it after
/// __syncthreads().
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives, and adds to the bytes that the phase waits for.
__device__ inline void arrive_expecting(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Arrives, for this thread, once all its cp.async so far have landed.
__device__ inline void arrive_after_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

/// Waits until the phase of this parity has completed. What was written before its arrivals is then visible here.
__device__ inline void wait_barrier(unsigned barrier, unsigned parity) {
  unsigned done;
  do {
    asm volatile(
        "{ .reg .pred complete; mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2; selp.u32 %0, 1, 0, "
        "complete; }"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

/// What threads wrote to shared memory before (cp.async included, once waited for) is seen by wgmma and bulk copies
/// after.
__device__ inline void publish_to_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace vostok
