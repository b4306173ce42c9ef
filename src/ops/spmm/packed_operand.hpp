// A as packed strips (abi/packed_strips.h), for families that read them: where a call's strips lie, and the launch that packs them where
// the values change from call to call. A family
// - declines what packed_strips_declined (ops/topology/packed_strips.hpp) does, and needs strip_needs(grain);
// - answers packed_format(kind) to packed_format, packed_workspace_bytes among its workspace;
// - puts pack_strips_launch first where packs_in_workspace, and calls PackedOperand::strips in its binding.
#pragma once

#include <cstdint>

#include <vostok/spmm.hpp>

#include "ops/spmm/problem.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops {

/// What a binding keeps of a plan's packed strips: trivially copyable.
struct PackedOperand {
  const unsigned* offsets = nullptr;
  LeftOver left_over = {};             ///< but for the entries
  std::int64_t data_offset_bytes = 0;  ///< in a set: scales come first
  std::int64_t left_offset_bytes = 0;  ///< likewise
  std::int64_t set_bytes = 0;          ///< 0 where the batch shares one
  std::int64_t workspace_offset_bytes = 0;
  unsigned row_strips = 0;
  unsigned k_blocks = 0;
  bool in_workspace = false;

  PackedStrips strips(const SpmmArguments& call) const;
};

/// Whether every call packs its values, or takes what Plan::pack made of them.
inline bool packs_in_workspace(const SpmmQuery& query) { return query.problem.value_lifetime == ValueLifetime::per_call; }

/// Sets of values: one for the batch, or one for each product.
inline std::int64_t packed_sets(const SpmmQuery& query) { return query.problem.values_per_batch ? query.problem.batch : 1; }

/// True if the product fills the GPU, so that the next call's packing cannot start before it ends. `room`: blocks that are resident at once.
inline bool crowds_packing(double blocks, double room) {
  constexpr double most_share = 0.75;
  return blocks > most_share * room;
}

/// Slow-down of a product whose calls cannot overlap because each packs first: `factor`. 1 where they can.
inline double without_overlap(const SpmmQuery& query, double factor) { return packs_in_workspace(query) ? factor : 1; }

/// Microseconds that packing takes however few strips there are: a warp goes through its strip's nonzeros, `entry_us` for each, after `latency_us`.
double strip_wait_us(const SpmmQuery& query, double latency_us, double entry_us);

/// Microseconds that packing a call's values takes on the device, its launch aside, for cost models. Fitted to an H200 (bench/NOTES.md). `crowded`:
/// by crowds_packing.
double packing_us(const SpmmQuery& query, PackedMode mode, bool crowded);

/// Whether what a call has read of strips is not read from L2 again: by no other tile of this many columns and no other product of the batch, nor by
/// the next call, since the cache is cold or strips are more than it holds.
bool reads_strips_once(const SpmmQuery& query, StripKind kind, int tile_columns);

/// Bytes of the workspace that packed values take, a multiple of 256; none where they are persistent.
std::int64_t packed_workspace_bytes(const SpmmQuery& query, StripKind kind);

/// `workspace_offset_bytes`: where packed_workspace_bytes of the workspace are the strips', a multiple of 256. `topology` may be
/// empty, for shapes alone.
PackedOperand packed_operand(const SpmmQuery& query, StripKind kind, const TopologyPointers& topology, std::int64_t workspace_offset_bytes);

/// Packs a call's values where packed_operand finds them.
Launch pack_strips_launch(const SpmmQuery& query, StripKind kind, const TopologyPointers& topology, std::int64_t workspace_offset_bytes);

}  // namespace vostok::ops
