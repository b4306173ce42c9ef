// Copies from global to shared memory that run beside the computation (cp.async, sm_80 and later).
//
// The calling thread sees a copy after its own wait_async, other threads after a barrier that follows it. The emulator
// copies at that wait and not before, so that shared memory read too early holds what it held.
#pragma once

#include "parts/shared_address.h"

namespace vostok {

/// Copies `source_bytes` of `bytes` (4, 8 or 16, both addresses aligned to as many) and writes zeros to the rest.
template <int bytes>
__device__ inline void copy_async(SharedAddress shared, const void* global, int source_bytes = bytes) {
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "copy_async: one copy is 4, 8 or 16 bytes");
#if defined(VOSTOK_EMULATOR)
  constexpr unsigned long long misaligned = bytes - 1;
  if (((reinterpret_cast<unsigned long long>(shared.at) | reinterpret_cast<unsigned long long>(global)) & misaligned) !=
      0)
    ::vostok_emulator::fail("a copy_async is not aligned to its size");
  if (source_bytes < 0 || source_bytes > bytes)
    ::vostok_emulator::fail("a copy_async reads less than nothing or more than its size");
  const ::vostok_emulator::AsyncCopy copy = {const_cast<unsigned char*>(shared.at),
                                             static_cast<const unsigned char*>(global), bytes, source_bytes};
  ::vostok_emulator::runtime->copy_later(::vostok_emulator::current, &copy);
#else
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared.at), "l"(global), "r"(source_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared.at), "l"(global), "n"(bytes),
                 "r"(source_bytes)
                 : "memory");
  }
#endif
}

template <int bytes>
__device__ inline void copy_async(void* shared, const void* global, int source_bytes = bytes) {
  copy_async<bytes>(shared_address(shared), global, source_bytes);
}

/// Copies 16 bytes where they are `there`, and writes zeros where not: a predicate, where a number of bytes takes
/// several instructions.
__device__ inline void copy_async_if(bool there, SharedAddress shared, const void* global) {
#if defined(VOSTOK_EMULATOR)
  copy_async<16>(shared, global, there ? 16 : 0);
#else
  asm volatile(
      "{ .reg .pred absent; setp.eq.u32 absent, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, absent; }" ::"r"(
          shared.at),
      "l"(global), "r"(static_cast<unsigned>(there))
      : "memory");
#endif
}

/// Makes one group of this thread's copies since the last commit; it may be empty.
__device__ inline void commit_async() {
#if defined(VOSTOK_EMULATOR)
  ::vostok_emulator::runtime->commit_copies(::vostok_emulator::current);
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the newest `pending_groups` of this thread's groups are under way.
template <int pending_groups>
__device__ inline void wait_async() {
#if defined(VOSTOK_EMULATOR)
  ::vostok_emulator::AsyncCopy copy;
  while (::vostok_emulator::runtime->take_copy(::vostok_emulator::current, pending_groups, &copy))
    for (int i = 0; i < copy.bytes; ++i) copy.to[i] = i < copy.source_bytes ? copy.from[i] : 0;
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(pending_groups) : "memory");
#endif
}

}  // namespace vostok
