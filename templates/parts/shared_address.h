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
inline void load_words(unsigned (&words)[4], SharedAddress from) {
  for (int i = 0; i < 4; ++i) words[i] = load_word({from.at + 4 * i});
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

/// Four words side by side, from a multiple of 16 bytes on.
__device__ inline void load_words(unsigned (&words)[4], SharedAddress from) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "r"(from.at)
               : "memory");
}
__device__ inline void store_words(SharedAddress to, const unsigned (&words)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to.at), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
}

#endif

__device__ inline SharedAddress operator+(SharedAddress from, unsigned bytes) { return {from.at + bytes}; }

}  // namespace vostok
