// Shared by cost models of families whose blocks copy k blocks of both operands into a ring of stages.
#pragma once

#include <algorithm>

namespace vostok::ops {

/// Cycles per k block that the ring of stages allows. A stage is held by warps that multiply, handed over and filled
/// again; `stages` of them do so in parallel. `chain`: cycles that a stage is held; `copy`: cycles of its copies;
/// `k_blocks`: those of a block's slice, of which the first find their stages empty.
inline double ring_cycles(double chain, double copy, int stages, double k_blocks) {
  constexpr double refill_latency = 3000;  // fitted: from a stage being handed over to its next k block being used
  const double refilled = std::max(0.0, 1 - stages / k_blocks);
  return refilled * (chain + refill_latency + copy) / stages;
}

}  // namespace vostok::ops
