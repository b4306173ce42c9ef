// Runs of A's entries on their way from global memory: spans, vector loads that stay inside the arrays, batches.
#pragma once

#include "abi/csr_product.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/unsigned.h"

namespace vostok {

/// The place of an entry among the nonzeros.
template <class F>
using Position = typename UnsignedOf<F::traits.wide_nonzeros>::Type;

/// Byte offsets into B; unsigned 32-bit ones reach 2^31 bytes and the columns of a row beyond.
template <class F>
using Offset = typename UnsignedOf<F::traits.wide_offsets>::Type;

/// The operands of one product of the batch.
template <class F>
struct Operands {
  const typename Element<F::traits.element>::Storage* values;
  const typename Element<F::traits.element>::Storage* dense;
  typename Element<F::traits.output>::Storage* output;
  const typename Element<F::traits.output>::Storage* residual;
};

template <class F>
__device__ inline Operands<F> operands_of(const CsrProductArgs& args, unsigned product) {
  using Value = typename Element<F::traits.element>::Storage;
  using Output = typename Element<F::traits.output>::Storage;
  Operands<F> operands = {static_cast<const Value*>(args.values), static_cast<const Value*>(args.dense),
                          static_cast<Output*>(args.output), static_cast<const Output*>(args.residual)};
  if constexpr (F::traits.batched) {
    operands.values += product * args.value_stride;
    operands.dense += product * args.dense_stride;
    operands.output += product * args.output_stride;
    if constexpr (F::traits.residual) operands.residual += product * args.output_stride;
  }
  return operands;
}

/// The entries [begin, end), taken in steps that start at `first`: `begin`, or the vector boundary before it. Entries
/// in [first, begin) belong to whatever lies before.
template <class F>
struct EntrySpan {
  Position<F> first;
  Position<F> begin;
  Position<F> end;

  __device__ bool holds(Position<F> position) const { return position >= begin && position < end; }
  /// The part of a step that is the span's own, as positions within the step.
  __device__ unsigned own_begin(Position<F> step_start) const {
    return begin > step_start ? static_cast<unsigned>(begin - step_start) : 0;
  }
  __device__ unsigned own_end(Position<F> step_start, unsigned step_length) const {
    const Position<F> left = end - step_start;
    return left < step_length ? static_cast<unsigned>(left) : step_length;
  }
};

template <class F>
__device__ inline Position<F> row_offset(const CsrProductArgs& args, unsigned row) {
  if constexpr (F::traits.wide_nonzeros)
    return static_cast<Position<F>>(load_global(static_cast<const long long*>(args.row_offsets) + row));
  else return static_cast<Position<F>>(load_global(static_cast<const int*>(args.row_offsets) + row));
}

template <class F>
__device__ inline EntrySpan<F> entry_span(Position<F> begin, Position<F> end) {
  constexpr unsigned vector = F::config.sparse_vector;
  const Position<F> first = aligns_spans(F::config) ? begin / vector * vector : begin;
  return {begin < end ? first : begin, begin, end};
}

/// sparse_vector neighbouring entries.
template <class F>
struct Packet {
  using Value = typename Element<F::traits.element>::Storage;
  using Column = typename Index<F::traits.index>::Storage;
  Vector<Value, F::config.sparse_vector> values;
  Vector<Column, F::config.sparse_vector> columns;
};

/// All values of a packet, in as few loads as their alignment allows.
template <class F>
__device__ inline void load_values(Packet<F>& packet, const typename Packet<F>::Value* values) {
  constexpr int width = value_vector(F::traits, F::config);
  using Piece = Vector<typename Packet<F>::Value, width>;
#pragma unroll
  for (int i = 0; i < F::config.sparse_vector; i += width) {
    const Piece piece = load_global(reinterpret_cast<const Piece*>(values + i));
#pragma unroll
    for (int j = 0; j < width; ++j) packet.values.at[i + j] = piece.at[j];
  }
}

/// The values of a packet's own entries, each from where value_positions says.
template <class F>
__device__ inline void load_gathered_values(Packet<F>& packet, const CsrProductArgs& args, const Operands<F>& operands,
                                            const EntrySpan<F>& span, Position<F> position) {
  constexpr int count = F::config.sparse_vector;
  const auto places = load_global(reinterpret_cast<const Vector<int, count>*>(args.value_positions + position));
#pragma unroll
  for (int i = 0; i < count; ++i)
    if (span.holds(position + i)) packet.values.at[i] = load_global(operands.values + places.at[i]);
}

/// The packet at `position`, which is before the span's end. Nothing is read past the arrays.
template <class F>
__device__ inline Packet<F> load_packet(const CsrProductArgs& args, const Operands<F>& operands,
                                        const EntrySpan<F>& span, Position<F> position) {
  constexpr int count = F::config.sparse_vector;
  constexpr bool gathers = gathers_values(F::traits, F::config);
  const auto* columns = static_cast<const typename Packet<F>::Column*>(args.column_indices) + position;
  Packet<F> packet{};
  const auto left = static_cast<Position<F>>(args.nonzeros) - position;
  if (count == 1 || left >= count) {
    packet.columns = load_global(reinterpret_cast<const decltype(packet.columns)*>(columns));
    if constexpr (gathers) load_gathered_values(packet, args, operands, span, position);
    else load_values(packet, operands.values + position);
    return packet;
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if (left > static_cast<unsigned>(i)) {
      packet.columns.at[i] = load_global(columns + i);
      const auto place =
          gathers ? static_cast<Position<F>>(load_global(args.value_positions + position + i)) : position + i;
      packet.values.at[i] = load_global(operands.values + place);
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
