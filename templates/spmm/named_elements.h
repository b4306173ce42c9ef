// The elements of A that a row of a strip names, from global memory: for what is rare.
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

/// The row's pairs in a strip: those of the four lanes that have it.
template <PackedGrain grain>
class RowPairs {
  static constexpr int words = packed_lane_words(grain);

 public:
  __device__ RowPairs(const unsigned char* strip, int row) : first_lane_(row % 8 * 4) {
    const auto* const headers = reinterpret_cast<const unsigned*>(strip) + first_lane_ * words;
    unsigned of_lanes[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      of_lanes[i] = load_own(headers + i * words);
      if constexpr (grain == PackedGrain::four) metadata_[i] = load_own(headers + i * words + 1);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      masks_ |= static_cast<unsigned long long>(packed_mask(of_lanes[i])) << 16 * i;
      starts_ |= static_cast<unsigned long long>(packed_start(of_lanes[i])) << 16 * i;
    }
    left_ = masks_ & (row < 8 ? 0x5555555555555555ULL : 0xaaaaaaaaaaaaaaaaULL);
  }

  __device__ bool any() const { return left_ != 0; }
  /// Takes out the next one; -1 where there is none.
  __device__ int next() {
    const int bit = __ffsll(static_cast<long long>(left_)) - 1;
    left_ &= left_ - 1;
    return bit;
  }
  /// Its number among the strip's.
  __device__ unsigned number(int bit) const {
    const int lane = bit / 16 * 16;
    const unsigned before = static_cast<unsigned>(masks_ >> lane) & ((1U << bit % 16) - 1);
    return (static_cast<unsigned>(starts_ >> lane) & 0xffffU) + static_cast<unsigned>(__popc(before));
  }
  /// The column of one of its two, in the strip.
  __device__ int column(int bit, int half) const {
    const int lane = first_lane_ + bit / 16;
    if constexpr (grain == PackedGrain::pair) return packed_column(lane, bit % 16) + half;
    unsigned word = metadata_[0];
#pragma unroll
    for (int i = 1; i < 4; ++i)
      if (four_metadata_lane(lane, bit % 16) == first_lane_ + i) word = metadata_[i];
    return four_pair_column(lane, bit % 16, word >> four_metadata_shift(lane, bit % 16), half);
  }

 private:
  int first_lane_;
  unsigned metadata_[4] = {};
  unsigned long long masks_ = 0;  ///< of the lanes, 16 bits each
  unsigned long long starts_ = 0;
  unsigned long long left_;
};

/// Several pairs are loaded at once: one after another they would wait for memory each.
template <StripsKind kind, class Visit>
__device__ inline void visit_packed(const unsigned char* strip, int row, Visit visit) {
  using Term = Element<packed_is_f16(kind.mode) ? Dtype::f16 : Dtype::bf16>;
  constexpr int words = packed_pair_words(kind.mode);
  constexpr int read = kind.marked ? 1 : words;  // values of marked strips are read elsewhere
  constexpr int together = 4;
  RowPairs<kind.grain> pairs(strip, row);
#pragma unroll 1
  while (pairs.any()) {
    int bits[together];
    unsigned numbers[together][read];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      bits[i] = pairs.next();
      if (bits[i] < 0) continue;
      const auto* const at =
          reinterpret_cast<const unsigned*>(strip + packed_header_bytes(kind.grain)) + words * pairs.number(bits[i]);
#pragma unroll
      for (int word = 0; word < read; ++word) numbers[i][word] = load_own(at + word);
    }
#pragma unroll
    for (int i = 0; i < together; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (bits[i] < 0) continue;
        const auto high = static_cast<unsigned short>(numbers[i][0] >> 16 * half);
        if (high == 0) continue;
        float value = Term::to_float(high);
        if constexpr (read == 2) value += Term::to_float(static_cast<unsigned short>(numbers[i][1] >> 16 * half));
        visit(pairs.column(bits[i], half), value);
      }
  }
}

/// A row of a whole strip is a line of 16-byte chunks, or two.
template <StripsKind kind, class Visit>
__device__ inline void visit_whole(const unsigned char* strip, int row, Visit visit) {
  using Term = Element<packed_is_f16(kind.mode) ? Dtype::f16 : Dtype::bf16>;
  using Chunk = Vector<unsigned, 4>;
  constexpr int words = packed_pair_words(kind.mode);
  constexpr int read = kind.marked ? 1 : words;  // values of marked strips are read elsewhere
#pragma unroll 1
  for (int i = 0; i < packed_strip_columns() / 8; ++i) {
    const auto number_of = [](const Chunk& chunk, int j) {
      return static_cast<unsigned short>(chunk.at[j / 2] >> 16 * (j % 2));
    };
    Chunk chunks[read];
#pragma unroll
    for (int term = 0; term < read; ++term)
      chunks[term] = load_own(reinterpret_cast<const Chunk*>(
          strip + 4 * packed_word(kind.grain, packed_whole_number(row, i * 8) / 2, term, words)));
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (number_of(chunks[0], j) == 0) continue;
      float value = Term::to_float(number_of(chunks[0], j));
      if constexpr (read == 2) value += Term::to_float(number_of(chunks[1], j));
      visit(i * 8 + j, value);
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
/// scaled (of marked strips their first terms), in an order that is the strip's alone. What is left over is not among
/// them.
template <StripsKind kind, class Visit>
__device__ inline void visit_named(const unsigned char* strip, int row, Visit visit) {
  if constexpr (kind.sparse) detail::visit_sparse<kind>(strip, row, visit);
  else if constexpr (kind.grain == PackedGrain::whole) detail::visit_whole<kind>(strip, row, visit);
  else detail::visit_packed<kind>(strip, row, visit);
}

}  // namespace vostok
