#include "ops/topology/sparse_form.hpp"

#include <abi/sparse_steps.h>

#include "ops/topology/packed_strips.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

void make_sparse_form(const Queue& queue, const SparseFormSource& source, const SparseFormParts& parts) {
  const CsrArrays& csr = source.csr;
  const std::int64_t strips = packed_strip_count(csr.rows, csr.cols);
  QueuedMemory scratch(queue, 2 * QueuedMemory::bytes_of<std::uint32_t>(strips));
  SparseStepArgs args{.step = SparseStep::mark_groups,
                      .row_offsets = static_cast<const int*>(csr.row_offsets),
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
  const Step<SparseStepTraits> program{
      "topology/sparse_strips.h", "make_sparse_strips", "SparseStepTraits", {.index = csr.index}};
  queue.fill_zero(parts.groups, strips * packed_lanes() * std::int64_t{sizeof(std::uint32_t)});
  queue.take(program, args, SparseStep::mark_groups, csr.nonzeros);
  queue.take(program, args, SparseStep::count_passes, strips / sparse_tile_strips() * packed_lanes());
  exclusive_scan(queue, args.nonzero_counts, strips, parts.nonzero_offsets, false);
  exclusive_scan(queue, args.unit_counts, strips, parts.unit_offsets, false);
  queue.take(program, args, SparseStep::place_values, csr.nonzeros);
}

}  // namespace vostok::ops
