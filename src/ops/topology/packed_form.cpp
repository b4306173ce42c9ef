#include "ops/topology/packed_form.hpp"

#include <abi/packed_steps.h>

#include "ops/topology/packed_strips.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

Step<PackedStepTraits> step(const char* kernel, const PackedStepTraits& traits) {
  return {"topology/packed_strips.h", kernel, "PackedStepTraits", traits};
}

PackedStepArgs arguments_of(const PackedFormSource& source, const PackedFormParts& parts) {
  return {.row_offsets = static_cast<const int*>(source.csr.row_offsets),
          .column_indices = source.csr.column_indices,
          .value_positions = source.value_positions,
          .headers = parts.headers,
          .pair_counts = nullptr,
          .unit_counts = {},
          .pair_offsets = parts.pair_offsets,
          .sources = nullptr,
          .rows = source.csr.rows,
          .nonzeros = source.csr.nonzeros,
          .row_strips = packed_row_strips(source.csr.rows),
          .strips = packed_strip_count(source.csr.rows, source.csr.cols)};
}

}  // namespace

void count_packed_pairs(const Queue& queue, const PackedFormSource& source, const PackedFormParts& parts) {
  PackedStepArgs args = arguments_of(source, parts);
  queue.fill_zero(args.headers, args.strips * packed_header_bytes);
  queue.launch(step("mark_pairs", {.index = source.csr.index}), queue.blocks_for(args.nonzeros), args);

  QueuedMemory scratch(queue, 3 * QueuedMemory::bytes_of<std::uint32_t>(args.strips));
  args.pair_counts = scratch.take<std::uint32_t>(args.strips);
  for (unsigned*& counts : args.unit_counts) counts = scratch.take<std::uint32_t>(args.strips);
  queue.launch(step("count_pairs", {}), queue.blocks_for(args.strips * packed_lanes), args);
  exclusive_scan(queue, args.pair_counts, args.strips, parts.pair_offsets, false);
  for (const int words : {0, 1}) exclusive_scan(queue, args.unit_counts[words], args.strips, parts.unit_offsets[words], false);
}

void place_packed_sources(const Queue& queue, const PackedFormSource& source, const PackedFormParts& parts, std::int32_t* sources,
                          std::int64_t pairs) {
  if (pairs == 0) return;
  constexpr int all_ones = 0xff;  // -1: no value
  queue.device().fill(queue.stream(), sources, all_ones, pairs * 2 * std::int64_t{sizeof(std::int32_t)});
  PackedStepArgs args = arguments_of(source, parts);
  args.sources = sources;
  queue.launch(step("place_sources", {.index = source.csr.index, .gathered = source.value_positions != nullptr}), queue.blocks_for(args.nonzeros),
               args);
}

}  // namespace vostok::ops
