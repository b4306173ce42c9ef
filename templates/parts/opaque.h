// Values that the compiler knows nothing about.
#pragma once

#include "parts/loads.h"

namespace vostok {

/// What is computed from a register after this is computed after this: it is not moved out of a loop, where it would take registers of
/// its own as long as the loop runs. No instruction.
__device__ inline void make_opaque(unsigned& bits) {
#if !defined(VOSTOK_EMULATOR)
  asm volatile("" : "+r"(bits));
#endif
}

__device__ inline void make_opaque(unsigned short& bits) {
#if !defined(VOSTOK_EMULATOR)
  asm volatile("" : "+h"(bits));
#endif
}

/// The same of the words of a vector.
template <class Bits>
__device__ inline void make_opaque(Bits& bits) {
#pragma unroll
  for (auto& part : bits.at) make_opaque(part);
}

}  // namespace vostok
