// The entries of a row on their way from global memory: spans, vector loads that stay inside the arrays, batches.
#pragma once

#include "abi/row_tile.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

/// A row's entries [begin, end), taken in steps that start at `first`: `begin`, or the vector boundary before it. Entries
/// in [first, begin) belong to the previous row.
struct RowSpan {
  unsigned first;
  unsigned begin;
  unsigned end;

  __device__ bool holds(unsigned position) const { return position >= begin && position < end; }
  /// The part of step `step` that is the row's own, as positions within the step.
  __device__ unsigned own_begin(unsigned step_start) const { return begin > step_start ? begin - step_start : 0; }
  __device__ unsigned own_end(unsigned step_start, unsigned step_length) const {
    const unsigned left = end - step_start;
    return left < step_length ? left : step_length;
  }
};

/// A row slot past the last row is an empty row: its lanes take part in synchronisation and do nothing else.
template <class F>
__device__ inline RowSpan row_span(const RowTileArgs& args, unsigned row, bool exists) {
  if (!exists) return {0, 0, 0};
  const unsigned begin = static_cast<unsigned>(load_global(args.row_offsets + row));
  const unsigned end = static_cast<unsigned>(load_global(args.row_offsets + row + 1));
  constexpr unsigned vector = F::config.sparse_vector;
  const unsigned first = F::config.reverse_offset_alignment ? begin / vector * vector : begin;
  return {begin < end ? first : begin, begin, end};
}

/// Byte offsets into B; unsigned 32-bit ones reach 2^31 bytes and the columns of a row beyond.
template <bool wide>
struct DenseOffset {
  using Type = unsigned;
};
template <>
struct DenseOffset<true> {
  using Type = unsigned long long;
};
template <class F>
using Offset = typename DenseOffset<F::traits.wide_offsets>::Type;

/// sparse_vector neighbouring entries.
template <class F>
struct Packet {
  using Value = typename Element<F::traits.element>::Storage;
  using Column = typename Index<F::traits.index>::Storage;
  Vector<Value, F::config.sparse_vector> values;
  Vector<Column, F::config.sparse_vector> columns;
};

/// The packet at `position`; nothing is read at or past `end` rounded up to a vector, nor past the arrays.
template <class F>
__device__ inline Packet<F> load_packet(const RowTileArgs& args, unsigned position, unsigned end) {
  constexpr int count = F::config.sparse_vector;
  using P = Packet<F>;
  const auto* values = static_cast<const typename P::Value*>(args.values) + position;
  const auto* columns = static_cast<const typename P::Column*>(args.column_indices) + position;
  P packet{};
  if (position >= end) return packet;
  if (count == 1 || args.nonzeros - position >= count) {
    packet.values = load_global(reinterpret_cast<const decltype(packet.values)*>(values));
    packet.columns = load_global(reinterpret_cast<const decltype(packet.columns)*>(columns));
    return packet;
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if (args.nonzeros - position > static_cast<unsigned>(i)) {
      packet.values.at[i] = load_global(values + i);
      packet.columns.at[i] = load_global(columns + i);
    }
  }
  return packet;
}

/// Entries ready to multiply.
template <class F, int count>
struct Batch {
  float values[count];
  Offset<F> offsets[count];
};

}  // namespace vostok
