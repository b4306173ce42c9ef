// Packed strips of grain "four", format "strip16x64/four/<mode>" version 1: a pair holds two values of four
// neighbouring columns of a row, as tensor cores take an operand that has two of every four (parts/sparse_mma.h,
// parts/wgmma_sparse.h). Strips, their order and their numbers are those of abi/packed_strips.h. What the host, the
// kernels that pack and the kernels that multiply share.
//
// Of every four columns, from a multiple of four on, a pair takes the first two nonzeros. A third and a fourth one are
// left over: they lie beside the strips, row by row (LeftOver), to be multiplied by other means. 1.3 % of the nonzeros
// are where nine in ten elements are zeros at random, 4 % where eight are.
//
// A strip is 32 times two words, one pair of these for each lane of a warp, then its pairs, then zeros up to a multiple
// of 16 bytes.
// - A lane's first word: its mask in the low 8 bits; in the high 16 its start, the number of pairs of the lanes before
// it. Bit 4 * step + register
//   stands for register 0..3 of the k32 step 0..1: row lane / 4 + 8 * (register & 1), columns 32 * step + 16 *
//   (register >> 1) + 4 * (lane % 4) and the next three. It is set where the structure names any of them.
// - Its second word: metadata of rows lane / 4 (low half) and lane / 4 + 8, of the 16 columns from 16 * (lane % 4) on,
// four bits for each four. Lanes
//   whose lane % 4 is 0 or 1 have those of step 0, the others of step 1: the selectors 0 and 1 of the multiplication.
// - Pairs by ascending lane, within a lane by ascending bit: that of the lower column in the lower half; +0 where the
// pair takes one value.
#pragma once

#include "abi/packed_strips.h"
#include "abi/sparse_strips.h"

namespace vostok {

consteval int four_bits() { return 8; }  ///< of a lane's mask

/// Where four columns of a row go: the lane, and its mask's bit.
struct FourPlace {
  int lane;
  int bit;
};

constexpr FourPlace four_place(int row, int column) {
  return {row % 8 * 4 + column % 16 / 4, column / 32 * 4 + column % 32 / 16 * 2 + row / 8};
}
/// The first column of the four that a bit stands for. Its row is packed_row's.
constexpr int four_column(int lane, int bit) { return bit / 4 * 32 + (bit >> 1 & 1) * 16 + lane % 4 * 4; }

/// Which of the four that a column belongs to a row names, from the columns that it names in the strip.
constexpr unsigned four_of(unsigned long long row_mask, int column) {
  return static_cast<unsigned>(row_mask >> (column & ~3)) & 0xfU;
}

/// Of the columns that a row names in a strip those that are left over.
constexpr unsigned long long fours_left(unsigned long long row_mask) {
  unsigned long long left = row_mask;
  for (int taken = 0; taken < 2; ++taken) {
    // The lowest one of every four goes: a borrow never leaves its four, since it is taken only from those that have
    // one.
    const unsigned long long any = (left | left >> 1 | left >> 2 | left >> 3) & 0x1111111111111111ULL;
    left &= left - any;
  }
  return left;
}

/// The mask of a lane, from the columns that its two rows name.
constexpr unsigned four_mask(int lane, unsigned long long row, unsigned long long row_below) {
  unsigned mask = 0;
  for (int bit = 0; bit < four_bits(); ++bit)
    mask |= (four_of((bit & 1) != 0 ? row_below : row, four_column(lane, bit)) != 0 ? 1U : 0U) << bit;
  return mask;
}

/// Its metadata.
constexpr unsigned four_metadata(int lane, unsigned long long row, unsigned long long row_below) {
  unsigned metadata = 0;
  for (int i = 0; i < 4; ++i) {
    const int column = lane % 4 * 16 + 4 * i;
    metadata |= sparse_places(sparse_taken(four_of(row, column), 0)).metadata() << 4 * i;
    metadata |= sparse_places(sparse_taken(four_of(row_below, column), 0)).metadata() << (16 + 4 * i);
  }
  return metadata;
}

/// The lane whose metadata name the two columns of a pair, and the place of their bits in it.
constexpr int four_metadata_lane(int lane, int bit) { return lane / 4 * 4 + four_column(lane, bit) / 16; }
constexpr int four_metadata_shift(int lane, int bit) { return 16 * (bit & 1) + four_column(lane, bit) % 16; }
/// A column of a pair, from the metadata moved by that.
constexpr int four_pair_column(int lane, int bit, unsigned metadata, int half) {
  return four_column(lane, bit) + static_cast<int>(metadata >> 2 * half & 3U);
}

/// Where an entry that is left over lies: its row in the strip, and its column in the matrix.
consteval long long fours_most_columns() { return 1LL << 28; }
constexpr unsigned packed_left_place(int row, unsigned column) { return column | static_cast<unsigned>(row) << 28; }
constexpr unsigned packed_left_row(unsigned place) { return place >> 28; }
constexpr unsigned packed_left_column(unsigned place) { return place & 0xfffffffU; }

/// Of so many entries those before a part's: each of the parts takes as many as the others, whatever their columns are.
constexpr unsigned packed_left_before(unsigned count, unsigned part, unsigned parts) {
  return static_cast<unsigned>(static_cast<unsigned long long>(count) * part / parts);
}

/// Which half of its pair a column has that is not left over.
constexpr int four_half(unsigned four, int column) {
  return sparse_places(sparse_taken(four, 0)).lower == static_cast<unsigned>(column % 4) ? 0 : 1;
}

}  // namespace vostok
