// A place in shared memory as instructions that take a shared address want it; on the emulator a pointer.
#pragma once

namespace vostok {

#if defined(VOSTOK_EMULATOR)

struct SharedAddress {
  const unsigned char* at;
};

inline SharedAddress shared_address(const void* shared) { return {static_cast<const unsigned char*>(shared)}; }

inline unsigned load_word(SharedAddress from) { return *reinterpret_cast<const unsigned*>(from.at); }
inline void store_word(SharedAddress to, unsigned word) {
  *reinterpret_cast<unsigned*>(const_cast<unsigned char*>(to.at)) = word;
}

#else

struct SharedAddress {
  unsigned at;
};

/// The intrinsic, not its instruction: the compiler sees through it, and makes no generic address only to take it back.
__device__ inline SharedAddress shared_address(const void* shared) {
  return {static_cast<unsigned>(__cvta_generic_to_shared(shared))};
}

/// Reads what copies or other threads wrote: never moved over a barrier.
__device__ inline unsigned load_word(SharedAddress from) {
  unsigned word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from.at) : "memory");
  return word;
}
__device__ inline void store_word(SharedAddress to, unsigned word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to.at), "r"(word) : "memory");
}

#endif

__device__ inline SharedAddress operator+(SharedAddress from, unsigned bytes) { return {from.at + bytes}; }

}  // namespace vostok
