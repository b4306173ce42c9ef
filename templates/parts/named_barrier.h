// A barrier of some of a block's threads (bar.sync). PTX only: the emulator has whole blocks' barriers.
#pragma once

namespace vostok {

/// `number` 1 to 15 (0 is __syncthreads()); `threads`: how many come, a multiple of 32. What they wrote to shared
/// memory before is seen after.
template <int number, int threads>
__device__ inline void wait_at_barrier() {
  static_assert(number >= 1 && number <= 15 && threads % 32 == 0, "barriers 1 to 15 wait for whole warps");
  asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(threads) : "memory");
}

}  // namespace vostok
