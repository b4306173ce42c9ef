// Where a mask's nonzeros lie, as far as its statistics tell cost models: some of them in runs of neighbouring columns, as in a dense band, the
// others at random.
#pragma once

#include <vostok/topology.hpp>

namespace vostok::ops {

struct MaskRuns {
  double solid = 0;  ///< nonzeros of runs, taken to be solid areas: what rows of a band share
  double loose = 0;  ///< the others
};

inline MaskRuns runs_of(const TopologyStatistics& statistics) {
  const auto nonzeros = static_cast<double>(statistics.nonzeros);
  return {.solid = statistics.run_share * nonzeros, .loose = (1 - statistics.run_share) * nonzeros};
}

}  // namespace vostok::ops
