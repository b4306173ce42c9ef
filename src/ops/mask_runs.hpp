// How a mask's nonzeros are distributed, as far as its statistics tell cost models: some in runs of neighbouring
// columns, as in a dense band, the others at random.
#pragma once

#include <abi/topology.h>

#include <algorithm>
#include <cmath>

#include <vostok/topology.hpp>

namespace vostok::ops {

/// Share of the nonzeros in runs, beyond what a random mask of that density has.
inline double banded_share(const TopologyStatistics& statistics) {
  if (statistics.run_share == 0) return 0;  // nearly every mask, and every prediction asks
  const double by_chance = std::pow(1 - statistics.sparsity(), run_columns() - 1);
  return by_chance < 1 ? std::max(0.0, (statistics.run_share - by_chance) / (1 - by_chance)) : 0;
}

/// Share of a mask's place in which rows have nonzeros, from the first column of each to the last: half of a square
/// where the mask is causal. 1 where the statistics do not say.
inline double spanned_share(const TopologyStatistics& statistics) {
  return statistics.span_share > 0 ? std::min(1.0, statistics.span_share) : 1;
}

/// Slow-down from uneven tiles: 1 for random masks, `of_bands` for banded ones. Fitted to the masks of the SC20 paper:
/// bench/notes/softmax_and_attention.md#what-telling-runs-gained.
inline double of_uneven_mask(const TopologyStatistics& statistics, double of_bands) {
  constexpr double enough = 0.1;
  return 1 + (of_bands - 1) * std::min(1.0, banded_share(statistics) / enough);
}

}  // namespace vostok::ops
