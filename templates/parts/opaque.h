// Values that the compiler knows nothing about.
#pragma once

#include "parts/loads.h"
#include "parts/shared_address.h"

namespace vostok {

/// What is computed from a register after this is computed after this: it is not moved out of a loop, where it would
/// take registers of its own as long as the loop runs. No instruction.
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

/// An address that stays in a register: the compiler would make it anew wherever it is used, from special registers and
/// constants.
__device__ inline void make_opaque(const unsigned char*& address) {
#if !defined(VOSTOK_EMULATOR)
  asm volatile("" : "+l"(address));
#endif
}

/// The same of an address of global memory, which the compiler goes on knowing it for.
template <class T>
__device__ inline void make_global_opaque(T*& address) {
#if !defined(VOSTOK_EMULATOR)
  auto global = __cvta_generic_to_global(address);
  asm volatile("" : "+l"(global));
  address = static_cast<T*>(__cvta_global_to_generic(global));
#endif
}

__device__ inline void make_opaque(SharedAddress& address) {
#if !defined(VOSTOK_EMULATOR)
  asm volatile("" : "+r"(address.at));
#endif
}

/// The same of the words of a vector.
template <class Bits>
__device__ inline void make_opaque(Bits& bits) {
#pragma unroll
  for (auto& part : bits.at) make_opaque(part);
}

}  // namespace vostok
