// Row slots: the rows of a CSR structure in order of length, each with a record and the columns of its entries at a
// fixed place; long rows are cut into pieces, of which each has a slot. What the topology makes and kernels read.
//
// A kernel that walks CSR in that order loads a row's number, then where the row lies, then its columns, then B: each
// load waits for the one before. From a slot it loads the record and the columns at once.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

struct alignas(16) RowRecord {
  int row;     ///< -1: an empty slot behind the last one
  int length;  ///< entries of the piece
  unsigned long long begin_and_pieces;
};

/// The piece's first entry, in CSR order.
constexpr unsigned long long begin_of(const RowRecord& record) { return record.begin_and_pieces >> 8; }
/// Into how many pieces the row is cut. They have neighbouring slots; the number of a piece is its slot's, modulo this.
constexpr unsigned pieces_of(const RowRecord& record) { return static_cast<unsigned>(record.begin_and_pieces & 255); }
constexpr RowRecord make_record(int row, int length, unsigned long long begin, unsigned pieces) {
  return {row, length, begin << 8 | pieces};
}

/// How a structure is cut.
struct SlotShape {
  int entries = 0;      ///< whose columns lie in a slot; 0: no slots
  int most_pieces = 1;  ///< of a row; a power of two of at most 128

  friend constexpr bool operator==(const SlotShape&, const SlotShape&) = default;
};

/// The pieces of a row: as many as make each fit its slot, rounded up to a power of two. Longer rows never have fewer:
/// in the row order all pieces of a row lie in one aligned group of slots.
constexpr int slot_pieces(long long length, const SlotShape& shape) {
  int pieces = 1;
  while (pieces < shape.most_pieces && static_cast<long long>(pieces) * shape.entries < length) pieces *= 2;
  return pieces;
}

/// The entries of a piece but the last one, which has what is left.
constexpr long long piece_length(long long length, int pieces) { return (length + pieces - 1) / pieces; }

/// The slots of a structure, in the row order (longest first).
struct RowSlots {
  const RowRecord* records;
  const void* columns;  ///< [count, entries], of the index's type; zeros behind a piece's last entry
  unsigned count;
};

/// The steps that make them.
struct RowSlotTraits {
  IndexType index = IndexType::i32;
  bool wide_offsets = false;  ///< row offsets are long long
};

struct RowSlotArgs {
  const void* row_offsets;
  const void* column_indices;
  const int* row_order;
  unsigned* piece_counts;  ///< [rows], in the row order: written by the first step
  const int* first_slots;  ///< [rows + 1]: their sums; null where no row is cut
  RowRecord* records;
  void* columns;
  long long rows;
  long long count;
  SlotShape shape;
};

template <FieldsOf<RowSlotTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
  visit("wide_offsets", traits.wide_offsets);
}

}  // namespace vostok
