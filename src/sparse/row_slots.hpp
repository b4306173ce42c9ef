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

/// Where the slots of each row begin, and the end behind them: rows + 1 numbers, in the row order.
std::vector<std::int32_t> first_slots(std::span<const std::int64_t> row_offsets, const SlotShape& shape);

/// `csr` is valid, no row has 2^31 entries.
HostRowSlots row_slots(const Csr& csr, const SlotShape& shape);

}  // namespace vostok::sparse
