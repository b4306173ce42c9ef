// The k-th largest key of each row or of a whole matrix, digit by digit from the highest: keys that share the digits
// found so far are counted by their next digit. Exact; no sort and no copy of the keys.
#pragma once

#include "abi/fixed.h"
#include "parts/shared.h"
#include "topology/block_sum.h"
#include "topology/integer.h"
#include "topology/mask_keys.h"

namespace vostok {

struct SelectShared {
  unsigned long long digit_counts[256];
  BlockSum<unsigned long long, 256> sum;
  SelectState state;
};
static_assert(sizeof(SelectShared) <= select_shared_bytes());

/// Adds the next digits of a row's keys that share the prefix.
template <class F>
__device__ inline void count_digits(const SelectArgs& args, long long row, unsigned prefix, int shift,
                                    unsigned long long* counts) {
  const RowKeys<F::traits.kind, F::traits.element> keys(args, row);
  for (long long column = threadIdx.x; column < args.cols; column += F::config.threads) {
    const unsigned key = keys.key(column);
    if (shift < 24 && key >> (shift + 8) != prefix >> (shift + 8)) continue;
    atomicAdd(counts + (key >> shift & 255U), 1ULL);
  }
}

/// The digit that the wanted key has: thread t looks at digit 255 - t. Every thread of the block calls it.
__device__ inline void pick_digit(unsigned long long count, int shift, SelectState& state,
                                  BlockSum<unsigned long long, 256>& sum) {
  const unsigned long long remaining = state.remaining;
  const unsigned long long larger = block_sum(count, sum).before;
  if (larger < remaining && remaining <= larger + count) {
    state.prefix |= (255U - threadIdx.x) << shift;
    state.remaining = remaining - larger;
  }
  __syncthreads();
}

/// Keys above the one found are kept, and as many equal to it as are left. Nothing where none is wanted.
__device__ inline SelectionRule rule_of(const SelectState& state) {
  if (state.remaining == 0) return {1ULL << 32, 0};
  return {state.prefix + 1ULL, state.remaining};
}

/// A block for each row.
template <class F>
__global__ void __launch_bounds__(F::config.threads) select_rows(const __grid_constant__ SelectArgs args) {
  static_assert(F::config.threads == 256, "select: a thread for every digit");
  auto& shared = dynamic_shared<SelectShared>();
  const long long row = blockIdx.x;
  if (threadIdx.x == 0) {
    const long long extra = (row + 1) * args.extra_count / args.rows - row * args.extra_count / args.rows;
    shared.state = {static_cast<unsigned long long>(args.base_count + extra), 0};
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    shared.digit_counts[threadIdx.x] = 0;
    __syncthreads();
    count_digits<F>(args, row, shared.state.prefix, shift, shared.digit_counts);
    __syncthreads();
    pick_digit(shared.digit_counts[255 - threadIdx.x], shift, shared.state, shared.sum);
  }
  if (threadIdx.x == 0) args.rules[row] = rule_of(shared.state);
}

/// Part of the counts of a whole matrix: each block takes some of its rows.
template <class F>
__global__ void __launch_bounds__(F::config.threads) select_count(const __grid_constant__ SelectArgs args) {
  auto& shared = dynamic_shared<SelectShared>();
  shared.digit_counts[threadIdx.x] = 0;
  __syncthreads();
  const unsigned prefix = args.shift == 24 ? 0 : args.state->prefix;
  for (long long row = blockIdx.x; row < args.rows; row += gridDim.x)
    count_digits<F>(args, row, prefix, args.shift, shared.digit_counts);
  __syncthreads();
  const unsigned long long count = shared.digit_counts[threadIdx.x];
  if (count > 0) atomicAdd(args.digit_counts + threadIdx.x, count);
}

/// One block: takes the next digit from the counts of the whole matrix, and clears them.
template <class F>
__global__ void __launch_bounds__(F::config.threads) select_pick(const __grid_constant__ SelectArgs args) {
  auto& shared = dynamic_shared<SelectShared>();
  if (threadIdx.x == 0) {
    if (args.shift == 24) shared.state = {static_cast<unsigned long long>(args.base_count), 0};
    else shared.state = *args.state;
  }
  __syncthreads();
  const unsigned long long count = args.digit_counts[255 - threadIdx.x];
  args.digit_counts[255 - threadIdx.x] = 0;
  pick_digit(count, args.shift, shared.state, shared.sum);
  if (threadIdx.x != 0) return;
  *args.state = shared.state;
  *args.rules = rule_of(shared.state);
}

}  // namespace vostok
