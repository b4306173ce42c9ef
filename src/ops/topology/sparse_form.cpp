#include "ops/topology/sparse_form.hpp"

#include <abi/sparse_steps.h>

#include "ops/topology/packed_strips.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

Step<SparseStepTraits> step(const char* kernel, const SparseStepTraits& traits) {
  return {"topology/sparse_strips.h", kernel, "SparseStepTraits", traits};
}

}  // namespace

void make_sparse_form(const Queue& queue, const SparseFormSource& source, const SparseFormParts& parts) {
  const CsrArrays& csr = source.csr;
  const std::int64_t strips = packed_strip_count(csr.rows, csr.cols);
  QueuedMemory scratch(queue, 2 * QueuedMemory::bytes_of<std::uint32_t>(strips));
  const SparseStepArgs args{.row_offsets = static_cast<const int*>(csr.row_offsets),
                            .column_indices = csr.column_indices,
                            .value_positions = source.value_positions,
                            .groups = parts.groups,
                            .headers = parts.headers,
                            .nonzero_counts = scratch.take<std::uint32_t>(strips),
                            .unit_counts = scratch.take<std::uint32_t>(strips),
                            .nonzero_offsets = parts.nonzero_offsets,
                            .sources = parts.sources,
                            .rows = csr.rows,
                            .nonzeros = csr.nonzeros,
                            .row_strips = packed_row_strips(csr.rows),
                            .strips = strips};
  queue.fill_zero(parts.groups, strips * packed_lanes * std::int64_t{sizeof(std::uint32_t)});
  queue.launch(step("mark_groups", {.index = csr.index}), queue.blocks_for(csr.nonzeros), args);
  queue.launch(step("count_passes", {}), queue.blocks_for(strips / sparse_tile_strips * packed_lanes), args);
  exclusive_scan(queue, args.nonzero_counts, strips, parts.nonzero_offsets, false);
  exclusive_scan(queue, args.unit_counts, strips, parts.unit_offsets, false);
  queue.launch(step("place_values", {.index = csr.index, .gathered = source.value_positions != nullptr}), queue.blocks_for(csr.nonzeros), args);
}

}  // namespace vostok::ops
