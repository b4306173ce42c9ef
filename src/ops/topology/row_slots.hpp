// Row slots (abi/row_slots.h) in device memory, made from CSR and its row order: sparse::row_slots. Everything is queued; nothing waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/topology.hpp>

#include <abi/row_slots.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// Why a structure has no such slots; nothing where it can have them.
std::optional<std::string> row_slots_declined(const TopologyStatistics& statistics, const SlotShape& shape, IndexType index);

/// Room for the slots of any structure with these statistics.
std::int64_t slot_room(const TopologyStatistics& statistics, const SlotShape& shape);

/// Where the slots of each row begin, and the end behind them: rows + 1 numbers, in the row order that order_rows makes. sparse::first_slots.
void find_first_slots(const Queue& queue, const CsrArrays& csr, const std::int32_t* row_order, const SlotShape& shape, std::int32_t* first_slots);

/// What slots are made of.
struct RowSlotSource {
  CsrArrays csr;
  const std::int32_t* row_order = nullptr;
  const std::int32_t* first_slots = nullptr;  ///< null where no row is cut
};

/// Writes `count` records, and as many times `shape.entries` columns; behind the last piece are empty slots.
void fill_row_slots(const Queue& queue, const RowSlotSource& source, const SlotShape& shape, std::int64_t count, RowRecord* records, void* columns);

}  // namespace vostok::ops
