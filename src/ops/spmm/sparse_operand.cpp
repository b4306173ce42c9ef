#include "ops/spmm/sparse_operand.hpp"

#include "base/checked.hpp"
#include "ops/topology/pack_sparse.hpp"

namespace vostok::ops {

namespace {

/// Workspace sizes must not depend on the structure: there is room for any structure with the query's statistics.
std::int64_t set_bytes_of(const SpmmQuery& query, const SparseStructure& structure) {
  return packs_in_workspace(query) ? sparse_set_bytes_bound(query.statistics) : sparse_set_bytes(structure);
}

}  // namespace

std::int64_t sparse_workspace_bytes(const SpmmQuery& query) {
  if (!packs_in_workspace(query)) return 0;
  return checked_multiply(packed_sets(query), sparse_set_bytes_bound(query.statistics), "bytes of packed values");
}

PackedOperand sparse_operand(const SpmmQuery& query, const TopologyPointers& topology) {
  const SparseStructure& structure = topology.sparse;
  return {.offsets = structure.unit_offsets,
          .set_bytes = packed_sets(query) > 1 ? set_bytes_of(query, structure) : 0,
          .row_strips = structure.row_strips,
          .k_blocks = structure.k_blocks,
          .in_workspace = packs_in_workspace(query)};
}

Launch pack_sparse_launch(const SpmmQuery& query, const TopologyPointers& topology) {
  const PackSparse what = {
      .structure = topology.sparse,
      .set_bytes = set_bytes_of(query, topology.sparse),
      .value_stride = query.value_stride(),
      .sets = packed_sets(query),
      .multiprocessors = query.device != nullptr ? query.device->info().multiprocessors : PackSparse{}.multiprocessors};
  return pack_sparse_launch<SpmmArguments>(
      what, [](const SpmmArguments& call) { return Packing{.values = call.values, .packed = call.workspace}; });
}

}  // namespace vostok::ops
