// f16 and bf16, kept as their bits, from and to f32. A GPU converts by instruction; software does the same, bit for
// bit: round to nearest even, subnormals kept, and every NaN becomes 0x7fff on the way down.
#pragma once

namespace vostok {

namespace detail {

__device__ inline float software_f16_to_f32(unsigned short half) {
  const unsigned sign = (half & 0x8000U) << 16;
  const unsigned exponent = half >> 10 & 0x1fU;
  const unsigned mantissa = half & 0x3ffU;
  if (exponent == 0)
    return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, static_cast<float>(mantissa) * 0x1p-24F) | sign);
  if (exponent < 31) return __builtin_bit_cast(float, sign | (exponent + 112) << 23 | mantissa << 13);
  const unsigned quiet = mantissa == 0 ? 0 : 0x400000U;
  return __builtin_bit_cast(float, sign | 0x7f800000U | quiet | mantissa << 13);
}

__device__ inline unsigned short software_f32_to_f16(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const unsigned magnitude = bits & 0x7fffffffU;
  const unsigned sign = bits >> 16 & 0x8000U;
  constexpr unsigned infinity = 0x7f800000U;
  constexpr unsigned overflow = 0x477ff000U;         // 65520: halfway between the largest f16 and the next power of two
  constexpr unsigned smallest_normal = 0x38800000U;  // 2^-14
  constexpr unsigned half_smallest = 0x33000000U;    // 2^-25: halfway between zero and the smallest f16
  if (magnitude > infinity) return 0x7fff;
  if (magnitude >= overflow) return static_cast<unsigned short>(sign | 0x7c00U);
  if (magnitude <= half_smallest) return static_cast<unsigned short>(sign);
  if (magnitude >= smallest_normal) {
    const unsigned even = magnitude >> 13 & 1U;
    return static_cast<unsigned short>(sign | (magnitude + 0xfffU + even - 0x38000000U) >> 13);
  }
  const unsigned shift = 126 - (magnitude >> 23);
  const unsigned mantissa = (magnitude & 0x7fffffU) | 0x800000U;
  const unsigned kept = mantissa >> shift;
  const unsigned rest = mantissa - (kept << shift);
  const unsigned half = 1U << (shift - 1);
  const bool up = rest > half || (rest == half && (kept & 1U) != 0);
  return static_cast<unsigned short>(sign | (kept + (up ? 1 : 0)));
}

__device__ inline unsigned short software_f32_to_bf16(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace detail

__device__ inline float f16_to_f32(unsigned short half) {
#if defined(VOSTOK_EMULATOR)
  return detail::software_f16_to_f32(half);
#else
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#endif
}

__device__ inline unsigned short f32_to_f16(float value) {
#if defined(VOSTOK_EMULATOR)
  return detail::software_f32_to_f16(value);
#else
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#endif
}

/// A bf16 is the upper half of an f32.
__device__ inline float bf16_to_f32(unsigned short bfloat) {
  return __builtin_bit_cast(float, static_cast<unsigned>(bfloat) << 16);
}

__device__ inline unsigned short f32_to_bf16(float value) {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 800
  unsigned short bfloat;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bfloat) : "f"(value));
  return bfloat;
#else
  return detail::software_f32_to_bf16(value);
#endif
}

/// Two neighbours at once, the first in the lower half: one instruction where two conversions take four.
__device__ inline unsigned f32_to_f16_pair(float first, float second) {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 800
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return static_cast<unsigned>(f32_to_f16(second)) << 16 | f32_to_f16(first);
#endif
}

__device__ inline unsigned f32_to_bf16_pair(float first, float second) {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 800
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
#else
  return static_cast<unsigned>(f32_to_bf16(second)) << 16 | f32_to_bf16(first);
#endif
}

}  // namespace vostok
