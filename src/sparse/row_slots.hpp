// Row slots (abi/row_slots.h) on the host: what devices' are compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <abi/row_slots.h>

#include "sparse/csr.hpp"

namespace vostok::sparse {

struct HostRowSlots {
  std::vector<RowRecord> records;     ///< in the row order
  std::vector<std::int32_t> columns;  ///< [records, entries]
};

/// The slots that rows with these offsets take.
std::int64_t row_slot_count(std::span<const std::int64_t> row_offsets, const SlotShape& shape);

/// `csr` is valid, no row has 2^31 entries.
HostRowSlots row_slots(const Csr& csr, const SlotShape& shape);

}  // namespace vostok::sparse
