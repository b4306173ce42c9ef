// One pass of a stable radix sort, in three launches: digits are counted per block, each digit's counts are scanned
// over the blocks, and every key goes to its place. Ranks among equal digits come from warp ballots, so the order never
// depends on which thread is first. No block waits for another.
#pragma once

#include "abi/fixed.h"
#include "abi/radix_sort.h"
#include "parts/shared.h"
#include "topology/block_sum.h"
#include "topology/integer.h"

namespace vostok {

template <class F>
__device__ inline unsigned sort_key(const RadixSortArgs& args, unsigned index) {
  return static_cast<unsigned>(read_integer<F::traits.key>(args.keys, index));
}

__device__ inline unsigned sort_digit(unsigned key, int shift) { return key >> shift & (sort_digits() - 1); }

struct SortCounts {
  unsigned of_digit[sort_digits()];
};
static_assert(sizeof(SortCounts) <= sort_count_shared_bytes());

template <class F>
__global__ void __launch_bounds__(F::config.threads) sort_count(const __grid_constant__ RadixSortArgs args) {
  static_assert(F::config.threads == sort_digits(), "radix sort: a thread for every digit");
  auto& shared = dynamic_shared<SortCounts>();
  shared.of_digit[threadIdx.x] = 0;
  __syncthreads();
  const unsigned begin = blockIdx.x * args.chunk;
  const unsigned end = min(args.chunk, args.count - begin) + begin;
  for (unsigned i = begin + threadIdx.x; i < end; i += F::config.threads)
    atomicAdd(&shared.of_digit[sort_digit(sort_key<F>(args, i), args.shift)], 1U);
  __syncthreads();
  args.counts[static_cast<unsigned long long>(threadIdx.x) * args.blocks + blockIdx.x] = shared.of_digit[threadIdx.x];
}

/// A warp for each digit: its counts become exclusive sums over the blocks.
template <class F>
__global__ void __launch_bounds__(F::config.threads) sort_offsets(const __grid_constant__ RadixSortArgs args) {
  const unsigned digit = static_cast<unsigned>(thread_in_grid() / 32);
  const unsigned lane = threadIdx.x % 32;
  unsigned* const counts = args.counts + static_cast<unsigned long long>(digit) * args.blocks;
  unsigned before = 0;
  for (unsigned first = 0; first < args.blocks; first += 32) {
    const bool exists = first + lane < args.blocks;
    const unsigned count = exists ? counts[first + lane] : 0;
    const unsigned inclusive = warp_inclusive_sum(count);
    if (exists) counts[first + lane] = before + inclusive - count;
    before += __shfl_sync(0xffffffffU, inclusive, 31);
  }
  if (lane == 0) args.totals[digit] = before;
}

struct SortPlaces {
  BlockSum<unsigned, sort_digits()> sum;
  unsigned next[sort_digits()];                         ///< where the block's next key of a digit goes
  unsigned of_warp[sort_digits() / 32][sort_digits()];  ///< keys of a digit in each warp of a step; then where they go
};
static_assert(sizeof(SortPlaces) <= sort_scatter_shared_bytes());

/// Lanes of the warp whose digit is the same; lanes without a key have none.
__device__ inline unsigned lanes_alike(unsigned digit, bool exists) {
  unsigned alike = __ballot_sync(0xffffffffU, exists);
#pragma unroll
  for (int bit = 0; bit < sort_digit_bits(); ++bit) {
    const bool set = (digit >> bit & 1U) != 0;
    const unsigned others = __ballot_sync(0xffffffffU, set);
    alike &= set ? others : ~others;
  }
  return alike;
}

/// The rank of this lane's key among those of its digit in the warp so far; adds the warp's keys to the counts.
__device__ inline unsigned rank_in_warp(unsigned* counts, unsigned digit, bool exists) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned alike = lanes_alike(digit, exists);
  const unsigned before = alike & ((1U << lane) - 1U);
  const unsigned so_far = counts[digit];
  __syncwarp();
  if (exists && before == 0) counts[digit] = so_far + __popc(alike);
  __syncwarp();
  return so_far + __popc(before);
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) sort_scatter(const __grid_constant__ RadixSortArgs args) {
  auto& shared = dynamic_shared<SortPlaces>();
  constexpr unsigned warps = sort_digits() / 32;
  const unsigned own_digit = threadIdx.x;
  const unsigned warp = threadIdx.x / 32;
  const SumBefore<unsigned> smaller_digits = block_sum(args.totals[own_digit], shared.sum);
  shared.next[own_digit] =
      smaller_digits.before + args.counts[static_cast<unsigned long long>(own_digit) * args.blocks + blockIdx.x];

  const unsigned begin = blockIdx.x * args.chunk;
  const unsigned end = min(args.chunk, args.count - begin) + begin;
  for (unsigned long long tile = begin; tile < end; tile += sort_tile()) {
    for (unsigned w = 0; w < warps; ++w) shared.of_warp[w][own_digit] = 0;
    __syncthreads();

    unsigned keys[sort_items()], ranks[sort_items()];
    const unsigned long long first = tile + warp * (32 * sort_items()) + threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < sort_items(); ++i) {
      const bool exists = first + i * 32 < end;
      keys[i] = exists ? sort_key<F>(args, static_cast<unsigned>(first + i * 32)) : 0;
      ranks[i] = rank_in_warp(shared.of_warp[warp], sort_digit(keys[i], args.shift), exists);
    }
    __syncthreads();

    unsigned next = shared.next[own_digit];
    for (unsigned w = 0; w < warps; ++w) {
      const unsigned of_warp = shared.of_warp[w][own_digit];
      shared.of_warp[w][own_digit] = next;
      next += of_warp;
    }
    shared.next[own_digit] = next;
    __syncthreads();

#pragma unroll
    for (int i = 0; i < sort_items(); ++i) {
      if (first + i * 32 >= end) continue;
      const auto from = static_cast<unsigned>(first + i * 32);
      const unsigned to = shared.of_warp[warp][sort_digit(keys[i], args.shift)] + ranks[i];
      if constexpr (!F::traits.last) args.sorted_keys[to] = keys[i];
      if constexpr (F::traits.first) args.sorted_positions[to] = static_cast<int>(from);
      else args.sorted_positions[to] = args.positions[from];
    }
    __syncthreads();
  }
}

}  // namespace vostok
