// The keywords of CUDA C++ and the built-in variables.
#pragma once

#include "runtime.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif

namespace vostok_emulator {

static const Runtime* runtime = nullptr;
static thread_local Thread* current = nullptr;

[[noreturn]] inline void fail(const char* reason, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  runtime->fail(current, reason, {file, line});
  __builtin_unreachable();
}

/// All shared memory of the block. T's alignment above 16 moves its start down, so one kernel uses one T.
template <class T>
T& dynamic_shared(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (current->shared_bytes < static_cast<long long>(sizeof(T)))
    fail("the launch gives fewer bytes of shared memory than the kernel's shared type has", file, line);
  auto address = reinterpret_cast<unsigned long long>(current->shared_begin);
  return *reinterpret_cast<T*>(address / alignof(T) * alignof(T));
}

}  // namespace vostok_emulator

#define threadIdx (::vostok_emulator::current->thread)
#define blockIdx (::vostok_emulator::current->block)
#define blockDim (::vostok_emulator::current->block_size)
#define gridDim (::vostok_emulator::current->grid_size)

static constexpr int warpSize = 32;

inline void __trap(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  vostok_emulator::fail("__trap was reached", file, line);
}
