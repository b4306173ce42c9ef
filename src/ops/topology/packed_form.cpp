#include "ops/topology/packed_form.hpp"

#include <abi/packed_steps.h>

#include "ops/topology/packed_strips.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

void make_packed_form(const Queue& queue, const PackedFormSource& source, PackedGrain grain,
                      const PackedFormParts& parts) {
  const CsrArrays& csr = source.csr;
  PackedStepArgs args = {.step = PackedStep::mark_columns,
                         .row_offsets = static_cast<const int*>(csr.row_offsets),
                         .column_indices = csr.column_indices,
                         .value_positions = source.value_positions,
                         .row_masks = nullptr,
                         .slot_counts = nullptr,
                         .unit_counts = {},
                         .left_counts = nullptr,
                         .headers = parts.headers,
                         .row_starts = parts.row_starts,
                         .slot_offsets = parts.slot_offsets,
                         .slots = parts.slots,
                         .value_places = parts.value_places,
                         .left_starts = parts.left_starts,
                         .left_places = nullptr,
                         .left_sources = nullptr,
                         .rows = csr.rows,
                         .nonzeros = csr.nonzeros,
                         .row_strips = packed_row_strips(csr.rows),
                         .strips = packed_strip_count(csr.rows, csr.cols),
                         .k_blocks = packed_k_blocks(csr.cols)};
  using Memory = QueuedMemory;
  const std::int64_t strip_rows = args.strips * packed_strip_rows();
  const std::int64_t rows = args.row_strips * packed_strip_rows();
  Memory scratch(queue, Memory::bytes_of<unsigned long long>(strip_rows) +
                            3 * Memory::bytes_of<std::uint32_t>(args.strips) + Memory::bytes_of<std::uint32_t>(rows));
  args.row_masks = scratch.take<unsigned long long>(strip_rows);
  for (unsigned** counts : {&args.slot_counts, &args.unit_counts[0], &args.unit_counts[1]})
    *counts = scratch.take<std::uint32_t>(args.strips);
  args.left_counts = scratch.take<std::uint32_t>(rows);

  const std::int64_t strip_threads = args.strips * packed_lanes();
  const Step<PackedStepTraits> program{
      "topology/packed_strips.h", "make_packed_strips", "PackedStepTraits", {.index = csr.index, .grain = grain}};
  queue.fill_zero(args.row_masks, strip_rows * std::int64_t{sizeof(*args.row_masks)});
  queue.take(program, args, PackedStep::mark_columns, args.nonzeros);
  queue.take(program, args, PackedStep::count_pairs, strip_threads);
  exclusive_scan(queue, args.slot_counts, args.strips, parts.slot_offsets, false);
  for (const int words : {0, 1})
    exclusive_scan(queue, args.unit_counts[words], args.strips, parts.unit_offsets[words], false);
  queue.take(program, args, PackedStep::start_rows, rows * packed_lanes());
  queue.take(program, args, PackedStep::place_nonzeros, strip_threads);
  if (parts.value_places != nullptr) queue.take(program, args, PackedStep::place_values, args.nonzeros);
  if (grain == PackedGrain::four) {
    exclusive_scan(queue, args.left_counts, rows, parts.left_starts, false);
    std::uint32_t left = 0;
    queue.device().copy_to_host(&left, parts.left_starts + rows, sizeof(left));
    const LeftOverParts left_over = parts.left_over(left);
    args.left_places = left_over.places;
    args.left_sources = left_over.sources;
    queue.take(program, args, PackedStep::place_left, rows * packed_lanes());
  }
}

}  // namespace vostok::ops
