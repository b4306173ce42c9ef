// CUDA's vector types, with their alignments.
#pragma once

#include "runtime.h"

using uint3 = vostok_emulator::Index;
using dim3 = vostok_emulator::Index;

#define VOSTOK_VECTOR2(name, element)                         \
  struct __attribute__((aligned(2 * sizeof(element)))) name { \
    element x, y;                                             \
  };                                                          \
  constexpr name make_##name(element x, element y) { return {x, y}; }
#define VOSTOK_VECTOR3(name, element) \
  struct name {                       \
    element x, y, z;                  \
  };                                  \
  constexpr name make_##name(element x, element y, element z) { return {x, y, z}; }
#define VOSTOK_VECTOR4(name, element)                                                         \
  struct __attribute__((aligned(4 * sizeof(element) < 16 ? 4 * sizeof(element) : 16))) name { \
    element x, y, z, w;                                                                       \
  };                                                                                          \
  constexpr name make_##name(element x, element y, element z, element w) { return {x, y, z, w}; }

VOSTOK_VECTOR2(char2, signed char)
VOSTOK_VECTOR2(uchar2, unsigned char)
VOSTOK_VECTOR2(short2, short)
VOSTOK_VECTOR2(ushort2, unsigned short)
VOSTOK_VECTOR2(int2, int)
VOSTOK_VECTOR2(uint2, unsigned)
VOSTOK_VECTOR2(longlong2, long long)
VOSTOK_VECTOR2(ulonglong2, unsigned long long)
VOSTOK_VECTOR2(float2, float)
VOSTOK_VECTOR2(double2, double)
VOSTOK_VECTOR3(int3, int)
VOSTOK_VECTOR3(float3, float)
VOSTOK_VECTOR4(char4, signed char)
VOSTOK_VECTOR4(uchar4, unsigned char)
VOSTOK_VECTOR4(short4, short)
VOSTOK_VECTOR4(ushort4, unsigned short)
VOSTOK_VECTOR4(int4, int)
VOSTOK_VECTOR4(uint4, unsigned)
VOSTOK_VECTOR4(float4, float)

#undef VOSTOK_VECTOR2
#undef VOSTOK_VECTOR3
#undef VOSTOK_VECTOR4

constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
