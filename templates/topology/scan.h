// Exclusive sums of any number of counts in two launches: each block sums its chunk, then each adds up the chunks
// before its own and scans. No block waits for another. One block needs the second launch only. Both are one program
// (topology/packed_strips.h).
#pragma once

#include "abi/fixed.h"
#include "parts/shared.h"
#include "topology/block_sum.h"
#include "topology/integer.h"

namespace vostok {

template <class F>
using ScanSum = typename Integer<offset_type(F::traits.wide)>::Storage;

template <class F>
__device__ inline void scan_sums(const ScanArgs& args) {
  auto& shared = dynamic_shared<BlockSum<ScanSum<F>, F::config.threads>>();
  const long long begin = blockIdx.x * args.chunk;
  const long long end = min(begin + args.chunk, args.count);
  ScanSum<F> sum = 0;
  for (long long i = begin + threadIdx.x; i < end; i += F::config.threads)
    sum += static_cast<ScanSum<F>>(args.counts[i]);
  const ScanSum<F> total = block_sum(sum, shared).total;
  if (threadIdx.x == 0) static_cast<ScanSum<F>*>(args.sums)[blockIdx.x] = total;
}

template <class F>
__device__ inline void scan_apply(const ScanArgs& args) {
  using Sum = ScanSum<F>;
  constexpr int items = scan_tile() / F::config.threads;
  auto& shared = dynamic_shared<BlockSum<Sum, F::config.threads>>();
  auto* const offsets = static_cast<Sum*>(args.offsets);

  Sum of_chunks = 0;
  for (unsigned chunk = threadIdx.x; chunk < blockIdx.x; chunk += F::config.threads)
    of_chunks += static_cast<const Sum*>(args.sums)[chunk];
  Sum before = block_sum(of_chunks, shared).total;

  const long long begin = blockIdx.x * args.chunk;
  const long long end = min(begin + args.chunk, args.count);
  for (long long tile = begin; tile < end; tile += scan_tile()) {
    const long long own = tile + threadIdx.x * items;
    Sum counts[items];
    Sum sum = 0;
#pragma unroll
    for (int i = 0; i < items; ++i) {
      counts[i] = own + i < end ? static_cast<Sum>(args.counts[own + i]) : 0;
      sum += counts[i];
    }
    const SumBefore<Sum> place = block_sum(sum, shared);
    Sum offset = before + place.before;
#pragma unroll
    for (int i = 0; i < items; ++i) {
      if (own + i < end) offsets[own + i] = offset;
      offset += counts[i];
    }
    before += place.total;
  }
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) offsets[args.count] = before;
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) scan(const __grid_constant__ ScanArgs args) {
  switch (args.step) {
    case ScanStep::sum: return scan_sums<F>(args);
    case ScanStep::apply: return scan_apply<F>(args);
  }
}

}  // namespace vostok
