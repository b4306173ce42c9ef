#include "sparse/row_slots.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "sparse/row_order.hpp"

namespace vostok::sparse {

std::vector<std::int32_t> first_slots(std::span<const std::int64_t> row_offsets, const SlotShape& shape) {
  // In the row order those with most pieces come first: how many rows have each number of pieces is all there is to
  // know.
  std::map<int, std::size_t, std::greater<>> rows_of;
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row)
    ++rows_of[slot_pieces(row_offsets[row + 1] - row_offsets[row], shape)];
  std::vector<std::int32_t> firsts = {0};
  for (const auto& [pieces, rows] : rows_of)
    for (std::size_t row = 0; row < rows; ++row) firsts.push_back(firsts.back() + pieces);
  return firsts;
}

HostRowSlots row_slots(const Csr& csr, const SlotShape& shape) {
  HostRowSlots slots;
  for (const std::int32_t row : row_order(csr.row_offsets)) {
    const std::int64_t begin = csr.row_offsets[static_cast<std::size_t>(row)];
    const std::int64_t length = csr.row_offsets[static_cast<std::size_t>(row) + 1] - begin;
    const int pieces = slot_pieces(length, shape);
    for (int piece = 0; piece < pieces; ++piece) {
      const std::int64_t first = std::min<std::int64_t>(piece_length(length, pieces) * piece, length);
      const auto left = static_cast<std::int32_t>(std::min<std::int64_t>(piece_length(length, pieces), length - first));
      slots.records.push_back(
          make_record(row, left, static_cast<std::uint64_t>(begin + first), static_cast<unsigned>(pieces)));
      for (std::int32_t entry = 0; entry < shape.entries; ++entry)
        slots.columns.push_back(entry < left ? csr.column_indices[static_cast<std::size_t>(begin + first + entry)] : 0);
    }
  }
  return slots;
}

}  // namespace vostok::sparse
