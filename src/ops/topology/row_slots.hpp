// Row slots (abi/row_slots.h) in device memory, made from CSR and its row order: sparse::row_slots. Everything is
// queued; nothing waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/topology.hpp>

#include <abi/row_slots.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// Why a structure cannot have such slots; nothing if it can.
std::optional<std::string> row_slots_declined(const TopologyStatistics& statistics, const SlotShape& shape,
                                              IndexType index);

/// Upper bound on the slots of a structure with these statistics.
std::int64_t slot_room(const TopologyStatistics& statistics, const SlotShape& shape);

/// Writes the first slot of each row, and the end after the last: rows + 1 numbers, in the row order of
/// order_rows. sparse::first_slots.
void find_first_slots(const Queue& queue, const CsrArrays& csr, const std::int32_t* row_order, const SlotShape& shape,
                      std::int32_t* first_slots);

/// The inputs of slots.
struct RowSlotSource {
  CsrArrays csr;
  const std::int32_t* row_order = nullptr;
  const std::int32_t* first_slots = nullptr;  ///< null if no row is cut
};

/// Writes `count` records, and `shape.entries` columns for each; slots after the last piece are empty.
void fill_row_slots(const Queue& queue, const RowSlotSource& source, const SlotShape& shape, std::int64_t count,
                    RowRecord* records, void* columns);

}  // namespace vostok::ops
