// A as packed strips (abi/packed_strips.h), for families that read them: the address of a call's strips, and the launch
// that packs them if the values change from call to call. A family
// - declines what packed_operand_declined does, and needs strip_needs(grain);
// - returns packed_format(kind) as its packed_format, and includes packed_workspace_bytes in its workspace;
// - puts pack_strips_launch first if packs_in_workspace, and calls PackedOperand::strips in its binding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <vostok/spmm.hpp>

#include "ops/spmm/problem.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops {

/// A plan's packed strips as a binding keeps them: trivially copyable.
struct PackedOperand {
  const unsigned* offsets = nullptr;
  LeftOver left_over = {};         ///< without the entries' address, which a call supplies
  ExactValues exact_of_call = {};  ///< of values that each call packs; without their address
  std::int64_t firsts_offset_bytes = 0;
  std::int64_t data_offset_bytes = 0;  ///< in a set: scales come first
  std::int64_t left_offset_bytes = 0;  ///< in a set, after the data
  std::int64_t exact_offset_bytes = 0;
  std::int64_t set_bytes = 0;  ///< 0 if the batch shares one set
  std::int64_t workspace_offset_bytes = 0;
  unsigned row_strips = 0;
  unsigned k_blocks = 0;
  bool in_workspace = false;

  PackedStrips strips(const SpmmArguments& call) const;
};

/// Whether every call packs its values; if not, Plan::pack has packed them.
inline bool packs_in_workspace(const SpmmQuery& query) {
  return query.problem.value_lifetime == ValueLifetime::per_call;
}

/// Why tensor cores cannot multiply by packed strips of A; nothing if they can.
std::optional<std::string> packed_operand_declined(const SpmmQuery& query);

/// The modes that may multiply the problem's elements, the likely best first.
std::vector<PackedMode> product_modes(const SpmmQuery& query);

/// Sets of values: one for each product of the batch, or one for all.
inline std::int64_t packed_sets(const SpmmQuery& query) {
  return query.problem.values_per_batch ? query.problem.batch : 1;
}

/// True if the product fills the GPU, so that the next call's packing cannot start before it ends. `room`: blocks that
/// are resident at once.
inline bool crowds_packing(double blocks, double room) {
  constexpr double most_share = 0.75;
  return blocks > most_share * room;
}

/// Slow-down of a product whose calls cannot overlap because each packs first: `factor`. 1 where they can.
inline double without_overlap(const SpmmQuery& query, double factor) { return packs_in_workspace(query) ? factor : 1; }

/// Microseconds of a call's start that calls in a row hide, for cost models: `most_us` where the blocks of the next one
/// find room beside this one's; none where there is no room, each call packs first, or no kernel starts early (below
/// sm_90). `room`: blocks that the device holds at once (bench/notes/cost_models.md#starts-that-calls-hide).
double hidden_start_us(const SpmmQuery& query, double blocks, double room, double most_us);

/// Lower bound on the microseconds of packing: a warp goes through its strip's nonzeros, `entry_us` each, after
/// `latency_us`.
double strip_wait_us(const SpmmQuery& query, double latency_us, double entry_us);

/// Microseconds that packing a call's values takes on the device, its launch aside, for cost models. Fitted to an H200
/// (bench/notes/packing.md#values-of-every-call-in-16-bits). `crowded`: by crowds_packing.
double packing_us(const SpmmQuery& query, StripKind kind, bool crowded);

/// Whether strips that a call has read are never read again from L2: neither by another tile of this many columns or
/// another product of the batch, nor by the next call, since the cache is cold or too small for the strips.
bool reads_strips_once(const SpmmQuery& query, StripKind kind, int tile_columns);

/// Bytes of packed values in the workspace, a multiple of 256; 0 if they are persistent.
std::int64_t packed_workspace_bytes(const SpmmQuery& query, StripKind kind);

/// `workspace_offset_bytes`: the offset of the packed_workspace_bytes for strips, a multiple of 256. `topology` may be
/// empty, to get only shapes.
PackedOperand packed_operand(const SpmmQuery& query, StripKind kind, const TopologyPointers& topology,
                             std::int64_t workspace_offset_bytes);

/// Packs a call's values to where packed_operand reads them.
Launch pack_strips_launch(const SpmmQuery& query, StripKind kind, const TopologyPointers& topology,
                          std::int64_t workspace_offset_bytes);

}  // namespace vostok::ops
