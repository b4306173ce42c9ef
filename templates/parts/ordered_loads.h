// Loads that stay where they stand: before the wait that hides them, or behind the barrier that what they read came through. PTX only.
#pragma once

#include "parts/vector.h"

namespace vostok {

/// A word of global memory that no one writes meanwhile, issued long before it is needed.
__device__ inline unsigned load_ahead(const unsigned* memory) {
  unsigned word;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(memory));
  return word;
}

/// Two floats of shared memory, aligned to as many.
__device__ inline Vector<float, 2> load_shared_pair(unsigned shared) {
  Vector<float, 2> pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.at[0]), "=f"(pair.at[1]) : "r"(shared) : "memory");
  return pair;
}

}  // namespace vostok
