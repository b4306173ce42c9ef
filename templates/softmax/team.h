// Threads that share a row: part of a warp, a warp, or several warps of a block.
#pragma once

#include "parts/shared.h"
#include "parts/warp.h"

namespace vostok {

template <int threads_, int block_threads>
struct Team {
  static constexpr int threads = threads_;
  static constexpr int lanes = threads < 32 ? threads : 32;
  static constexpr int warps = threads < 32 ? 1 : threads / 32;
  static constexpr int block_warps = block_threads / 32;

  /// Number of the thread's team in its block, and of the thread in its team.
  static __device__ unsigned number() { return threadIdx.x / threads; }
  static __device__ unsigned rank() { return threadIdx.x % threads; }

  template <class Partial>
  struct Exchange {
    Partial of_warp[block_warps];
  };

  /// What all threads of the team know together, the same bits in each of them: `pass.across<count>(partial)` joins
  /// count neighbouring lanes. Once in a kernel, by every thread of the block.
  template <class Pass, class Partial>
  static __device__ Partial join(const Pass& pass, Partial partial) {
    partial = pass.template across<lanes>(partial);
    if constexpr (warps > 1) {
      auto& exchange = dynamic_shared<Exchange<Partial>>();
      const unsigned warp = threadIdx.x / 32;
      if (threadIdx.x % 32 == 0) exchange.of_warp[warp] = partial;
      __syncthreads();
      partial = pass.template across<warps>(exchange.of_warp[warp / warps * warps + threadIdx.x % warps]);
    }
    return partial;
  }
};

/// The sum over `count` neighbouring lanes, the same bits in each of them.
template <int count>
__device__ inline float sum_across(float value) {
#pragma unroll
  for (int distance = 1; distance < count; distance *= 2) value += shuffle_xor(value, distance);
  return value;
}

/// The largest value that is a number among `count` neighbouring lanes.
template <int count>
__device__ inline float maximum_across(float value) {
#pragma unroll
  for (int distance = 1; distance < count; distance *= 2) value = fmaxf(value, shuffle_xor(value, distance));
  return value;
}

}  // namespace vostok
