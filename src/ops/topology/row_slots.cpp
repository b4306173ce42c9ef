#include "ops/topology/row_slots.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/form_bytes.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

std::optional<std::string> row_slots_declined(const TopologyStatistics& statistics, const SlotShape& shape,
                                              IndexType index) {
  constexpr std::int64_t bytes_per_nonzero = 16;
  if (statistics.longest_row > std::numeric_limits<std::int32_t>::max()) return "the lengths of row slots have 32 bits";
  const std::int64_t count = slot_room(statistics, shape);
  if (count > std::numeric_limits<std::int32_t>::max()) return "row slots have numbers of 32 bits";
  const std::int64_t slot_bytes =
      std::int64_t{sizeof(RowRecord)} + std::int64_t{shape.entries} * size_of(integer_type(index));
  const std::int64_t bytes = checked_multiply(slot_bytes, count, "row slots");
  if (is_mostly_room(bytes, statistics.nonzeros, bytes_per_nonzero))
    return fmt::format("most of the slots would be empty: {} bytes for {} nonzeros", bytes, statistics.nonzeros);
  return std::nullopt;
}

std::int64_t slot_room(const TopologyStatistics& statistics, const SlotShape& shape) {
  // A row that is cut has fewer than 2 * length / entries pieces.
  const std::int64_t cut = shape.most_pieces > 1 ? 2 * (statistics.nonzeros / shape.entries) : 0;
  return std::min(statistics.rows + cut, checked_multiply(statistics.rows, shape.most_pieces, "pieces of rows"));
}

namespace {

Step<RowSlotTraits> step(const char* kernel, const CsrArrays& csr) {
  return {"topology/row_slots.h", kernel, "RowSlotTraits", {.index = csr.index, .wide_offsets = csr.wide_offsets}};
}

RowSlotArgs arguments(const RowSlotSource& source, const SlotShape& shape) {
  return {.row_offsets = source.csr.row_offsets,
          .column_indices = source.csr.column_indices,
          .row_order = source.row_order,
          .piece_counts = nullptr,
          .first_slots = source.first_slots,
          .records = nullptr,
          .columns = nullptr,
          .rows = source.csr.rows,
          .count = 0,
          .shape = shape};
}

}  // namespace

void find_first_slots(const Queue& queue, const CsrArrays& csr, const std::int32_t* row_order, const SlotShape& shape,
                      std::int32_t* first_slots) {
  const QueuedMemory counts(queue, csr.rows * std::int64_t{sizeof(std::uint32_t)});
  RowSlotArgs args = arguments({.csr = csr, .row_order = row_order}, shape);
  args.piece_counts = counts.as<std::uint32_t>();
  queue.launch(step("count_row_pieces", csr), queue.blocks_for(csr.rows), args);
  exclusive_scan(queue, counts.as<const std::uint32_t>(), csr.rows, first_slots, false);
}

void fill_row_slots(const Queue& queue, const RowSlotSource& source, const SlotShape& shape, std::int64_t count,
                    RowRecord* records, void* columns) {
  RowSlotArgs args = arguments(source, shape);
  args.records = records;
  args.columns = columns;
  args.count = count;
  queue.launch(step("fill_row_slots", source.csr), queue.blocks_for(count * shape.entries), args);
}

}  // namespace vostok::ops
