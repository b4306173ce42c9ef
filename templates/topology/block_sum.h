// Sums over the lanes of a warp and the threads of a block, always in the same order.
#pragma once

#include "abi/topology.h"

namespace vostok {

template <class T>
__device__ inline T warp_inclusive_sum(T value) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const T other = __shfl_up_sync(0xffffffffU, value, distance);
    if (lane >= distance) value += other;
  }
  return value;
}

/// Shared memory of a block's sum.
template <class T, int threads>
struct BlockSum {
  static_assert(threads % 32 == 0 && sizeof(T) * threads / 32 <= block_sum_shared_bytes(),
                "a block's sum: more shared memory than the host gives");
  T of_warp[threads / 32];
};

template <class T>
struct SumBefore {
  T before;  ///< of the threads before this one
  T total;   ///< of all threads
};

/// Every thread of the block calls it; the shared memory is free for the next call on return of the next barrier.
template <class T, int threads>
__device__ inline SumBefore<T> block_sum(T value, BlockSum<T, threads>& shared) {
  const unsigned warp = threadIdx.x / 32;
  const T inclusive = warp_inclusive_sum(value);
  __syncthreads();  // whoever read the last sums has done so
  if (threadIdx.x % 32 == 31) shared.of_warp[warp] = inclusive;
  __syncthreads();
  SumBefore<T> sum{inclusive - value, 0};
#pragma unroll
  for (unsigned w = 0; w < threads / 32; ++w) {
    const T other = shared.of_warp[w];
    if (w < warp) sum.before += other;
    sum.total += other;
  }
  return sum;
}

}  // namespace vostok
