// A place in shared memory as instructions that take a shared address want it; on the emulator a pointer.
#pragma once

namespace vostok {

#if defined(VOSTOK_EMULATOR)

struct SharedAddress {
  const unsigned char* at;
};

inline SharedAddress shared_address(const void* shared) { return {static_cast<const unsigned char*>(shared)}; }

inline unsigned load_word(SharedAddress from) { return *reinterpret_cast<const unsigned*>(from.at); }

#else

struct SharedAddress {
  unsigned at;
};

__device__ inline SharedAddress shared_address(const void* shared) {
  unsigned address;
  asm("{ .reg .u64 whole; cvta.to.shared.u64 whole, %1; cvt.u32.u64 %0, whole; }" : "=r"(address) : "l"(shared));
  return {address};
}

/// Reads what copies or other threads wrote: never moved over a barrier.
__device__ inline unsigned load_word(SharedAddress from) {
  unsigned word;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(from.at) : "memory");
  return word;
}

#endif

__device__ inline SharedAddress operator+(SharedAddress from, unsigned bytes) { return {from.at + bytes}; }

}  // namespace vostok
