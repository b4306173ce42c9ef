// Sparse softmax and its gradient for rows that one block would take too long for: rows are cut into strips.
//
// Two launches. The first sums each strip and leaves a partial in the workspace; the second joins the partials of its
// row, always in the same order, and normalises its strip. Where row statistics are read only the second is launched.
#pragma once

#include "abi/fixed.h"
#include "abi/split_softmax.h"
#include "parts/dependent_launch.h"
#include "softmax/pass.h"

namespace vostok {

/// A team's strip of the topology's table; an empty one for a team past the last.
template <class F>
struct TeamStrip {
  long long number;
  Strip strip = {};
  EntrySpan span = {};

  static __device__ TeamStrip of(const SplitSoftmaxArgs& args, long long batch) {
    TeamStrip own{static_cast<long long>(blockIdx.x) * F::config.strips_per_block + SoftmaxTeam<F>::number()};
    if (own.number >= args.strip_count) return own;
    own.strip = load_global(args.strips + own.number);
    own.span = EntrySpan::of<F::config.vector>(batch * args.operands.value_stride, own.strip.begin, own.strip.end);
    return own;
  }

  __device__ bool holds_entries() const { return strip.begin < strip.end; }
  __device__ bool starts_row() const { return number == strip.first; }
};

/// The statistics of rows without entries, which have no strip.
template <class F>
__device__ inline void write_empty_statistics(const SoftmaxOperands& operands, long long batch) {
  constexpr long long block_threads = threads(F::config);
#pragma unroll 1
  for (long long row = blockIdx.x * block_threads + threadIdx.x; row < operands.m; row += gridDim.x * block_threads)
    if (row_offset<false>(operands.row_offsets, row) == row_offset<false>(operands.row_offsets, row + 1))
      operands.row_statistics[batch * operands.m + row] = -softmax_infinity();
}

template <class F>
__global__ void __launch_bounds__(threads(F::config)) split_softmax_sum(const __grid_constant__ SplitSoftmaxArgs args) {
  static_assert(keeps_rules<F>());
  using Team = SoftmaxTeam<F>;
  using Partial = typename SoftmaxPass<F>::Partial;
  const long long batch = batch_of_block();
  if (batch >= args.operands.batch) return;

  const auto own = TeamStrip<F>::of(args, batch);
  follow_previous_launch();
  SoftmaxPass<F> pass(args.operands, batch, own.span, Team::rank());
  sum_entries(pass, own.span);
  const Partial total = Team::join(pass, pass.partial());
  if (own.holds_entries() && Team::rank() == 0)
    static_cast<Partial*>(args.partials)[batch * args.partial_stride + own.number] = total;
  if constexpr (F::traits.statistics == RowStatistics::write) write_empty_statistics<F>(args.operands, batch);
}

/// The sum of a strip's whole row, from the partials of its strips: the same bits for each of them.
template <class F, class Pass>
__device__ inline typename Pass::Partial sum_of_row(const SplitSoftmaxArgs& args, const Pass& pass,
                                                    const TeamStrip<F>& own, long long batch) {
  using Partial = typename Pass::Partial;
  Partial sum = Pass::nothing();
  if (own.holds_entries()) {
    const Partial* const partials =
        static_cast<const Partial*>(args.partials) + batch * args.partial_stride + own.strip.first;
    const long long entries = row_offset<false>(args.operands.row_offsets, own.strip.row + 1LL) -
                              row_offset<false>(args.operands.row_offsets, own.strip.row);
    const long long strips = (entries + F::config.strip_entries - 1) / F::config.strip_entries;
#pragma unroll 1
    for (long long strip = SoftmaxTeam<F>::rank(); strip < strips; strip += SoftmaxTeam<F>::threads)
      sum = pass.join(sum, load_global(partials + strip));
  }
  return SoftmaxTeam<F>::join(pass, sum);
}

template <class F>
__global__ void __launch_bounds__(threads(F::config))
    split_softmax_store(const __grid_constant__ SplitSoftmaxArgs args) {
  static_assert(keeps_rules<F>());
  constexpr RowStatistics statistics = F::traits.statistics;
  const long long batch = batch_of_block();
  if (batch >= args.operands.batch) return;

  const auto own = TeamStrip<F>::of(args, batch);
  follow_previous_launch();
  SoftmaxPass<F> pass(args.operands, batch, own.span, SoftmaxTeam<F>::rank());
  [[maybe_unused]] float* const logarithm = args.operands.row_statistics + batch * args.operands.m + own.strip.row;
  if constexpr (statistics == RowStatistics::read) {
    if (own.holds_entries()) store_from_logarithm(pass, own.span, load_global(logarithm));
  } else {
    const auto total = sum_of_row(args, pass, own, batch);
    pass.adopt(total);
    if constexpr (statistics == RowStatistics::write)
      if (own.holds_entries() && own.starts_row() && SoftmaxTeam<F>::rank() == 0) *logarithm = pass.logarithm(total);
    store_entries<false>(pass, own.span);
  }
}

}  // namespace vostok
