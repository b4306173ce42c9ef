// The elements of A that a row of a strip names, one by one from global memory: for what is rare, small code rather
// than fast.
//
// A place that the structure does not name holds +0; where it names one, packing leaves -0 instead of that
// (abi/packed_strips.h).
#pragma once

#include "abi/packed_fours.h"
#include "abi/sums_again.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

namespace detail {

/// The two columns of a pair, in the strip.
template <PackedGrain grain>
__device__ inline void pair_columns(int (&columns)[2], const unsigned char* strip, int lane, int bit) {
  if constexpr (grain == PackedGrain::pair) {
    columns[0] = packed_column(lane, bit);
    columns[1] = columns[0] + 1;
  } else {
    const auto* const headers = reinterpret_cast<const unsigned*>(strip);
    const unsigned metadata =
        load_own(headers + four_metadata_lane(lane, bit) * 2 + 1) >> four_metadata_shift(lane, bit);
#pragma unroll
    for (int half = 0; half < 2; ++half) columns[half] = four_pair_column(lane, bit, metadata, half);
  }
}

template <StripsKind kind, class Visit>
__device__ inline void visit_packed(const unsigned char* strip, int row, Visit visit) {
  using Term = Element<packed_is_f16(kind.mode) ? Dtype::f16 : Dtype::bf16>;
  constexpr int words = packed_pair_words(kind.mode);
#pragma unroll 1
  for (int lane = row % 8 * 4; lane < row % 8 * 4 + 4; ++lane) {
    const unsigned header = load_own(reinterpret_cast<const unsigned*>(strip) + lane * packed_lane_words(kind.grain));
    const unsigned mask = packed_mask(header);
#pragma unroll 1
    for (unsigned left = mask & (row < 8 ? 0x5555U : 0xaaaaU); left != 0; left &= left - 1) {
      const int bit = __ffs(static_cast<int>(left)) - 1;
      const unsigned pair = packed_start(header) + static_cast<unsigned>(__popc(mask & ((1U << bit) - 1)));
      const auto* const numbers =
          reinterpret_cast<const unsigned short*>(strip + packed_header_bytes(kind.grain) + 4 * words * pair);
      int columns[2];
      pair_columns<kind.grain>(columns, strip, lane, bit);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned short high = load_own(numbers + half);
        if (high == 0) continue;
        float value = Term::to_float(high);
        if constexpr (words == 2) value += Term::to_float(load_own(numbers + 2 + half));
        visit(columns[half], value);
      }
    }
  }
}

template <StripsKind kind, class Visit>
__device__ inline void visit_sparse(const unsigned char* strip, int row, Visit visit) {
  using Value = Element<packed_is_f16(kind.mode) ? Dtype::f16 : Dtype::bf16>;
  const SparseHeader header{load_own(reinterpret_cast<const unsigned*>(strip))};
  const unsigned char* pass = strip + sparse_header_bytes();
#pragma unroll 1
  for (int step = 0; step < sparse_steps(); ++step)
#pragma unroll 1
    for (unsigned left = header.passes(step); left > 0; --left, pass += sparse_pass_bytes())
#pragma unroll 1
      for (int group = 0; group < sparse_step_columns() / 4; ++group) {  // of four columns
        const int lane = row % 8 * 4 + group % 4, index = group / 4 * 2 + row / 8;
        const auto* const metadata =
            reinterpret_cast<const unsigned*>(pass + sparse_metadata_begin()) + row % 8 * 2 + index / 2;
        const unsigned places = load_own(metadata) >> (16 * (index % 2) + 4 * (group % 4));
        const unsigned word = load_own(reinterpret_cast<const unsigned*>(pass) + lane * sparse_registers() + index);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const auto number = static_cast<unsigned short>(word >> 16 * half);
          if (number == 0) continue;
          visit(sparse_column(lane, step, index) + static_cast<int>(places >> 2 * half & 3U), Value::to_float(number));
        }
      }
}

}  // namespace detail

/// visit(column, value) for what row `row` of the strip at `strip` names: columns of the strip, values as they are
/// scaled, in an order that is the strip's alone. What is left over is not among them.
template <StripsKind kind, class Visit>
__device__ inline void visit_named(const unsigned char* strip, int row, Visit visit) {
  if constexpr (kind.sparse) detail::visit_sparse<kind>(strip, row, visit);
  else detail::visit_packed<kind>(strip, row, visit);
}

}  // namespace vostok
