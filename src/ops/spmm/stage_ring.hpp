// What cost models share of families whose blocks copy k blocks of both operands into a ring of stages.
#pragma once

#include <algorithm>

namespace vostok::ops {

/// Cycles of a k block for which its stage is held by warps that multiply, handed over and filled again, over the stages that do so beside
/// one another. `chain`: cycles that a stage is held, `copy`: that its copies take, `k_blocks`: of a block's slice; the first of them find their
/// stages empty.
inline double ring_cycles(double chain, double copy, int stages, double k_blocks) {
  constexpr double refill_latency = 3000;  // fitted: from a stage being handed over to its next k block being used
  const double refilled = std::max(0.0, 1 - stages / k_blocks);
  return refilled * (chain + refill_latency + copy) / stages;
}

}  // namespace vostok::ops
