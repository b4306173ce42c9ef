// Shared by cost models of families whose blocks copy k blocks of both operands into a ring of stages.
#pragma once

#include <algorithm>

namespace vostok::ops {

/// Cycles from a stage being handed over to its next k block being used, fitted; fewer where a block multiplies a tile
/// of 128 columns and more whose elements are one term (bench/notes/cost_models.md#stages-of-wide-tiles).
constexpr double refill_latency(int tile_columns, int terms) { return tile_columns >= 128 && terms == 1 ? 2000 : 3000; }

/// Cycles per k block that the ring of stages allows. A stage is held by warps that multiply, handed over and filled
/// again; `stages` of them do so in parallel. `chain`: cycles that a stage is held; `copy`: cycles of its copies;
/// `k_blocks`: those of a block's slice, of which the first find their stages empty.
/// `latency`: refill_latency.
inline double ring_cycles(double chain, double latency, double copy, int stages, double k_blocks) {
  const double refilled = std::max(0.0, 1 - stages / k_blocks);
  return refilled * (chain + latency + copy) / stages;
}

}  // namespace vostok::ops
