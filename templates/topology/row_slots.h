// Slots of the rows of a CSR structure, made from its row order: each row's pieces are counted, their numbers added up,
// and the slots filled.
#pragma once

#include "abi/fixed.h"
#include "abi/row_slots.h"
#include "topology/integer.h"

namespace vostok {

namespace detail {

struct RowPlace {
  int row;
  long long begin;
  long long length;
};

template <class F>
__device__ inline RowPlace row_place(const RowSlotArgs& args, long long position) {
  constexpr IntegerType offsets = offset_type(F::traits.wide_offsets);
  const int row = args.row_order[position];
  const long long begin = read_integer<offsets>(args.row_offsets, row);
  return {row, begin, read_integer<offsets>(args.row_offsets, row + 1LL) - begin};
}

}  // namespace detail

template <class F>
__global__ void __launch_bounds__(F::config.threads) count_row_pieces(const __grid_constant__ RowSlotArgs args) {
  for (long long position = thread_in_grid(); position < args.rows; position += threads_in_grid())
    args.piece_counts[position] = slot_pieces(detail::row_place<F>(args, position).length, args.shape);
}

/// A thread for each place of a column.
template <class F>
__global__ void __launch_bounds__(F::config.threads) fill_row_slots(const __grid_constant__ RowSlotArgs args) {
  constexpr IntegerType index = integer_type(F::traits.index);
  for (long long i = thread_in_grid(); i < args.count * args.shape.entries; i += threads_in_grid()) {
    const long long slot = i / args.shape.entries;
    const long long entry = i - slot * args.shape.entries;
    RowRecord record = make_record(-1, 0, 0, 1);
    const bool cut = args.first_slots != nullptr;
    if (!cut || slot < args.first_slots[args.rows]) {
      const long long position = cut ? row_of<IntegerType::i32>(args.first_slots, args.rows, slot) : slot;
      const detail::RowPlace place = detail::row_place<F>(args, position);
      const int pieces = cut ? slot_pieces(place.length, args.shape) : 1;
      const long long share = piece_length(place.length, pieces);
      const long long first = min(share * (slot % pieces), place.length);
      record = make_record(place.row, static_cast<int>(min(share, place.length - first)), place.begin + first, pieces);
    }
    if (entry == 0) args.records[slot] = record;
    const long long from = static_cast<long long>(begin_of(record)) + entry;
    write_integer<index>(args.columns, i, entry < record.length ? read_integer<index>(args.column_indices, from) : 0);
  }
}

}  // namespace vostok
