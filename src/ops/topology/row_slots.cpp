#include "ops/topology/row_slots.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

std::optional<std::string> row_slots_declined(const TopologyStatistics& statistics, const SlotShape& shape, IndexType index) {
  constexpr std::int64_t free_bytes = std::int64_t{64} << 20;
  constexpr std::int64_t bytes_per_nonzero = 16;
  if (statistics.longest_row > std::numeric_limits<std::int32_t>::max()) return "the lengths of row slots have 32 bits";
  const std::int64_t count = slot_room(statistics, shape);
  if (count > std::numeric_limits<std::int32_t>::max()) return "row slots have numbers of 32 bits";
  const std::int64_t slot_bytes = std::int64_t{sizeof(RowRecord)} + std::int64_t{shape.entries} * size_of(integer_type(index));
  const std::int64_t bytes = checked_multiply(slot_bytes, count, "row slots");
  if (bytes > free_bytes + bytes_per_nonzero * statistics.nonzeros)
    return fmt::format("most of the slots would be empty: {} bytes for {} nonzeros", bytes, statistics.nonzeros);
  return std::nullopt;
}

std::int64_t slot_room(const TopologyStatistics& statistics, const SlotShape& shape) {
  // A row that is cut has fewer than 2 * length / entries pieces.
  const std::int64_t cut = shape.most_pieces > 1 ? 2 * (statistics.nonzeros / shape.entries) : 0;
  return std::min(statistics.rows + cut, checked_multiply(statistics.rows, shape.most_pieces, "pieces of rows"));
}

void fill_row_slots(const Queue& queue, const CsrArrays& csr, const std::int32_t* row_order, const SlotShape& shape, std::int64_t count,
                    RowRecord* records, void* columns) {
  const bool cut = shape.most_pieces > 1;
  const QueuedMemory counts(queue, cut ? csr.rows * std::int64_t{sizeof(std::uint32_t)} : 0);
  const QueuedMemory first_slots(queue, cut ? (csr.rows + 1) * std::int64_t{sizeof(std::int32_t)} : 0);
  const RowSlotArgs args{.row_offsets = csr.row_offsets,
                         .column_indices = csr.column_indices,
                         .row_order = row_order,
                         .piece_counts = counts.as<std::uint32_t>(),
                         .first_slots = first_slots.as<const std::int32_t>(),
                         .records = records,
                         .columns = columns,
                         .rows = csr.rows,
                         .count = count,
                         .shape = shape};
  const RowSlotTraits traits{.index = csr.index, .wide_offsets = csr.wide_offsets};
  const auto step = [&](const char* kernel) { return Step<RowSlotTraits>{"topology/row_slots.h", kernel, "RowSlotTraits", traits}; };
  if (cut) {
    queue.launch(step("count_row_pieces"), queue.blocks_for(csr.rows), args);
    exclusive_scan(queue, counts.as<const std::uint32_t>(), csr.rows, first_slots.data(), false);
  }
  queue.launch(step("fill_row_slots"), queue.blocks_for(count * shape.entries), args);
}

}  // namespace vostok::ops
