// Sparse softmax and its gradient with a team of threads for each row: part of a warp, a warp, or several warps of a
// block.
//
// The first entries of a row, as many as the team's registers hold, are read once; what is longer is summed from its
// end and read again. Teams never touch an entry of another row, so the output may be the input.
#pragma once

#include "abi/fixed.h"
#include "abi/row_softmax.h"
#include "parts/dependent_launch.h"
#include "softmax/pass.h"

namespace vostok {

/// The entries of a team's row; none for a team past the last row, which takes part in synchronisation and does nothing
/// else.
template <class F>
__device__ inline EntrySpan span_of_row(const SoftmaxOperands& operands, long long batch, unsigned row, bool exists) {
  constexpr bool wide = F::traits.wide_offsets;
  if (!exists) return {0, 0, 0};
  return EntrySpan::of<F::config.vector>(batch * operands.value_stride, row_offset<wide>(operands.row_offsets, row),
                                         row_offset<wide>(operands.row_offsets, static_cast<long long>(row) + 1));
}

template <class F>
__global__ void __launch_bounds__(threads(F::config)) row_softmax(const __grid_constant__ RowSoftmaxArgs args) {
  static_assert(keeps_rules<F>());
  constexpr RowStatistics statistics = F::traits.statistics;
  using Team = SoftmaxTeam<F>;
  const SoftmaxOperands& operands = args.operands;
  const long long batch = batch_of_block();
  if (batch >= operands.batch) return;

  const unsigned slot = blockIdx.x * F::config.rows_per_block + Team::number();
  const bool exists = slot < operands.m;
  unsigned row = slot;
  if constexpr (F::config.row_swizzle)
    if (exists) row = static_cast<unsigned>(load_global(args.row_order + slot));

  const EntrySpan span = span_of_row<F>(operands, batch, row, exists);
  wait_for_previous_launch();
  SoftmaxPass<F> pass(operands, batch, span, Team::rank());
  [[maybe_unused]] float* const logarithm = operands.row_statistics + batch * operands.m + row;
  if constexpr (statistics == RowStatistics::read) {
    allow_next_launch();
    if (exists) store_from_logarithm(pass, span, load_global(logarithm));
  } else {
    sum_entries(pass, span);
    const auto total = Team::join(pass, pass.partial());
    pass.finish(total);
    allow_next_launch();
    if constexpr (statistics == RowStatistics::write)
      if (exists && Team::rank() == 0) *logarithm = pass.logarithm(total);
    store_entries<true>(pass, span);
  }
}

}  // namespace vostok
