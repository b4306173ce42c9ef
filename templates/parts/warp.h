// Exchange between the lanes of a whole warp.
#pragma once

namespace vostok {

template <class T>
__device__ inline T shuffle_xor(T value, int distance) {
  return __shfl_xor_sync(0xffffffffU, value, distance);
}

/// The largest value among lanes whose numbers differ in the bits from `first_distance` to `last_distance` alone.
template <int first_distance, int last_distance = 16>
__device__ inline unsigned warp_maximum(unsigned value) {
#pragma unroll
  for (int distance = first_distance; distance <= last_distance; distance *= 2) {
    const unsigned other = shuffle_xor(value, distance);
    value = other > value ? other : value;
  }
  return value;
}

/// The largest value of all lanes, which is not negative.
__device__ inline int warp_largest(int value) {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffU, value);
#else
  return static_cast<int>(warp_maximum<1>(static_cast<unsigned>(value)));
#endif
}

/// The largest value among the four lanes that share a fragment's line.
__device__ inline float line_largest(float value) {
  value = fmaxf(value, shuffle_xor(value, 1));
  return fmaxf(value, shuffle_xor(value, 2));
}

/// The sum over lanes whose numbers differ in the bits from `first_distance` to `last_distance` alone, in all of them.
template <int first_distance, int last_distance = 16, class T>
__device__ inline T warp_sum(T value) {
#pragma unroll
  for (int distance = last_distance; distance >= first_distance; distance /= 2) value += shuffle_xor(value, distance);
  return value;
}

/// The number of the calling warp in its block, in a form of which the compiler knows that all lanes have the same:
/// branches by it do not diverge, and what follows from it stays in the registers that a warp shares. Every lane of the
/// warp takes part.
__device__ inline unsigned warp_of_block() { return __shfl_sync(0xffffffffU, threadIdx.x / 32, 0); }

}  // namespace vostok
