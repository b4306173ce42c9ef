// The walk over a span's entries that forward and backward share.
#pragma once

#include "softmax/backward.h"
#include "softmax/forward.h"

namespace vostok {

template <class F, bool backward>
struct SoftmaxPassOf {
  using Type = SoftmaxForwardPass<F>;
};
template <class F>
struct SoftmaxPassOf<F, true> {
  using Type = SoftmaxBackwardPass<F>;
};
template <class F>
using SoftmaxPass = typename SoftmaxPassOf<F, F::traits.backward>::Type;

template <class F>
using SoftmaxTeam = Team<team_threads(F::config), threads(F::config)>;

/// The batch element of a block: on y, and on z past 65535.
__device__ inline long long batch_of_block() { return static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y; }

/// Sums a span, last chunk first, so that the first one is in registers at the end.
template <class Pass>
__device__ inline void sum_entries(Pass& pass, const EntrySpan& span) {
  constexpr int length = Pass::chunk_entries;
#pragma unroll 1
  for (int start = (span.end - 1) / length * length; start >= 0 && span.begin < span.end; start -= length) {
    pass.load(start);
    pass.add();
  }
}

/// Stores a span whose sum is known; `from_registers`: its first chunk is there, ready.
template <bool from_registers, class Pass>
__device__ inline void store_entries(Pass& pass, const EntrySpan& span) {
  constexpr int length = Pass::chunk_entries;
  if constexpr (from_registers)
    if (span.begin < span.end) pass.store(0);
#pragma unroll 1
  for (int start = from_registers ? length : 0; start < span.end; start += length) {
    pass.load(start);
    pass.exponentiate();
    pass.store(start);
  }
}

/// Stores a span of probabilities from the logarithm of the row's sum.
template <class Pass>
__device__ inline void store_from_logarithm(Pass& pass, const EntrySpan& span, float logarithm) {
  constexpr int length = Pass::chunk_entries;
#pragma unroll 1
  for (int start = 0; start < span.end; start += length) {
    pass.load(start);
    pass.store_less_logarithm(start, logarithm);
  }
}

}  // namespace vostok
