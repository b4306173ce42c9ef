// Loads and stores of global memory. Operands that are only read are never written while a kernel runs: loads of them
// go through the read-only path, and the compiler may move them freely.
#pragma once

#include "parts/vector.h"

namespace vostok {

namespace detail {

struct alignas(16) Bits128 {
  unsigned at[4];
};
struct alignas(8) Bits64 {
  unsigned at[2];
};
struct alignas(16) Bits256 {
  Bits128 at[2];
};

#ifdef VOSTOK_EMULATOR

template <class Bits>
__device__ inline Bits load_bits(const Bits* memory) {
  return *memory;
}

template <class Bits>
__device__ inline Bits load_own_bits(const Bits* memory) {
  return *memory;
}

template <class Bits>
__device__ inline void store_bits(Bits* memory, Bits bits) {
  *memory = bits;
}

template <class Bits>
__device__ inline void stream_bits(Bits* memory, Bits bits) {
  *memory = bits;
}

#else

__device__ inline Bits128 load_bits(const Bits128* memory) {
  Bits128 bits;
  asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(bits.at[0]), "=r"(bits.at[1]), "=r"(bits.at[2]), "=r"(bits.at[3])
      : "l"(memory));
  return bits;
}

__device__ inline Bits64 load_bits(const Bits64* memory) {
  Bits64 bits;
  asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(bits.at[0]), "=r"(bits.at[1]) : "l"(memory));
  return bits;
}

__device__ inline unsigned load_bits(const unsigned* memory) {
  unsigned bits;
  asm("ld.global.nc.u32 %0, [%1];" : "=r"(bits) : "l"(memory));
  return bits;
}

__device__ inline unsigned short load_bits(const unsigned short* memory) {
  unsigned short bits;
  asm("ld.global.nc.u16 %0, [%1];" : "=h"(bits) : "l"(memory));
  return bits;
}

// A compiler takes plain loads and stores of several words apart. These stay whole, in the order of the kernel's other
// accesses.

__device__ inline Bits128 load_own_bits(const Bits128* memory) {
  Bits128 bits;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.at[0]), "=r"(bits.at[1]), "=r"(bits.at[2]), "=r"(bits.at[3])
               : "l"(memory)
               : "memory");
  return bits;
}

__device__ inline Bits64 load_own_bits(const Bits64* memory) {
  Bits64 bits;
  asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(bits.at[0]), "=r"(bits.at[1]) : "l"(memory) : "memory");
  return bits;
}

template <class Bits>
__device__ inline Bits load_own_bits(const Bits* memory) {
  return *memory;
}

__device__ inline void store_bits(Bits128* memory, Bits128 bits) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(memory), "r"(bits.at[0]), "r"(bits.at[1]),
               "r"(bits.at[2]), "r"(bits.at[3])
               : "memory");
}

__device__ inline void store_bits(Bits64* memory, Bits64 bits) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(memory), "r"(bits.at[0]), "r"(bits.at[1]) : "memory");
}

template <class Bits>
__device__ inline void store_bits(Bits* memory, Bits bits) {
  *memory = bits;
}

__device__ inline void stream_bits(Bits128* memory, Bits128 bits) {
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(memory), "r"(bits.at[0]), "r"(bits.at[1]),
               "r"(bits.at[2]), "r"(bits.at[3]));
}

__device__ inline void stream_bits(Bits64* memory, Bits64 bits) {
  asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(memory), "r"(bits.at[0]), "r"(bits.at[1]));
}

__device__ inline void stream_bits(unsigned* memory, unsigned bits) {
  asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(memory), "r"(bits));
}

__device__ inline void stream_bits(unsigned short* memory, unsigned short bits) {
  asm volatile("st.global.cs.u16 [%0], %1;" ::"l"(memory), "h"(bits));
}

#endif

__device__ inline Bits256 load_bits(const Bits256* memory) {
  return {load_bits(&memory->at[0]), load_bits(&memory->at[1])};
}

__device__ inline Bits256 load_own_bits(const Bits256* memory) {
  return {load_own_bits(&memory->at[0]), load_own_bits(&memory->at[1])};
}

__device__ inline void store_bits(Bits256* memory, Bits256 bits) {
  store_bits(&memory->at[0], bits.at[0]);
  store_bits(&memory->at[1], bits.at[1]);
}

__device__ inline void stream_bits(Bits256* memory, Bits256 bits) {
  stream_bits(&memory->at[0], bits.at[0]);
  stream_bits(&memory->at[1], bits.at[1]);
}

template <int bytes>
struct BitsOf;
template <>
struct BitsOf<32> {
  using Type = Bits256;
};
template <>
struct BitsOf<16> {
  using Type = Bits128;
};
template <>
struct BitsOf<8> {
  using Type = Bits64;
};
template <>
struct BitsOf<4> {
  using Type = unsigned;
};
template <>
struct BitsOf<2> {
  using Type = unsigned short;
};

}  // namespace detail

/// One load of sizeof(V) bytes: 2, 4, 8 or 16, aligned to as many; 32 are two loads, aligned to 16.
template <class V>
__device__ inline V load_global(const V* memory) {
  using Bits = typename detail::BitsOf<sizeof(V)>::Type;
  return __builtin_bit_cast(V, detail::load_bits(reinterpret_cast<const Bits*>(memory)));
}

/// Asks for what lies there, so that a later load does not wait for memory.
template <class V>
__device__ inline void expect_global([[maybe_unused]] const V* memory) {
#ifndef VOSTOK_EMULATOR
  asm volatile("prefetch.global.L1 [%0];" ::"l"(memory));
#endif
}

/// One load of 16 bytes that nobody of the block reads again: it takes no room from what L1 has.
template <class V>
__device__ inline V load_once(const V* memory) {
  static_assert(sizeof(V) == 16, "16 bytes");
#if defined(VOSTOK_EMULATOR)
  return *memory;
#else
  detail::Bits128 bits;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(bits.at[0]), "=r"(bits.at[1]), "=r"(bits.at[2]), "=r"(bits.at[3])
      : "l"(memory));
  return __builtin_bit_cast(V, bits);
#endif
}

/// A load that stays where it is written. load_global may be moved: where its address is the same in every round of a
/// loop, out of the loop, and then past the test that guards it.
__device__ inline float load_in_place(const float* memory) {
#if defined(VOSTOK_EMULATOR)
  return *memory;
#else
  float value;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(memory));
  return value;
#endif
}

/// One load, as load_global's, of memory that this kernel writes as well.
template <class V>
__device__ inline V load_own(const V* memory) {
  using Bits = typename detail::BitsOf<sizeof(V)>::Type;
  return __builtin_bit_cast(V, detail::load_own_bits(reinterpret_cast<const Bits*>(memory)));
}

/// One store; `stream` marks data that will not be read soon.
template <bool stream, class V>
__device__ inline void store_global(V* memory, const V& value) {
  using Bits = typename detail::BitsOf<sizeof(V)>::Type;
  const auto bits = __builtin_bit_cast(Bits, value);
  if constexpr (stream) detail::stream_bits(reinterpret_cast<Bits*>(memory), bits);
  else detail::store_bits(reinterpret_cast<Bits*>(memory), bits);
}

}  // namespace vostok
