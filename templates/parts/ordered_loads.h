// Loads and stores that stay where they stand: before the wait that hides them, or behind the barrier that what they
// read came through. PTX only.
#pragma once

#include "parts/vector.h"

namespace vostok {

/// A word of global memory that no one writes meanwhile, issued long before it is needed.
__device__ inline unsigned load_ahead(const unsigned* memory) {
  unsigned word;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(word) : "l"(memory));
  return word;
}

/// Brings the line of 128 bytes to L2.
__device__ inline void prefetch_to_l2(const void* memory) { asm volatile("prefetch.global.L2 [%0];" ::"l"(memory)); }

/// Two floats of shared memory, aligned to as many.
__device__ inline Vector<float, 2> load_shared_pair(unsigned shared) {
  Vector<float, 2> pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.at[0]), "=f"(pair.at[1]) : "r"(shared) : "memory");
  return pair;
}

/// A float on its way there.
__device__ inline void store_shared(unsigned shared, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared), "f"(value) : "memory");
}

/// Two words on their way there.
__device__ inline void store_shared_pair(unsigned shared, const Vector<unsigned, 2>& pair) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(shared), "r"(pair.at[0]), "r"(pair.at[1]) : "memory");
}

/// Four, aligned to as many; and their way there.
__device__ inline Vector<float, 4> load_shared_four(unsigned shared) {
  Vector<float, 4> four;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.at[0]), "=f"(four.at[1]), "=f"(four.at[2]), "=f"(four.at[3])
               : "r"(shared)
               : "memory");
  return four;
}
__device__ inline void store_shared_four(unsigned shared, const Vector<float, 4>& four) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(shared), "f"(four.at[0]), "f"(four.at[1]),
               "f"(four.at[2]), "f"(four.at[3])
               : "memory");
}

}  // namespace vostok
