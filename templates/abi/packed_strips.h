// Packed strips, formats "strip16x64/<grain>/<mode>" version 1: the values of a sparse matrix in the order in which
// tensor-core fragments take them. What the host, the kernels that pack and the kernels that multiply share. Grain
// "four" is that of abi/packed_fours.h, grain "whole" has a place for every element; what follows is common to all, but
// for what it says of a strip's headers and pairs, which are those of grain "pair".
//
// The matrix as kernels walk it (A^T where the problem transposes A) is cut into strips of 16 rows x 64 columns. There
// are k_blocks = ceil(cols / 64) of them across, and row_strips = ceil(rows / 16) down, rounded up to a multiple of 16:
// those past the matrix are there and empty. The strip of column block b and row strip r has number b * row_strips + r,
// so that the strips of any tile of 16 t rows in one column block follow one another: one bulk copy.
//
// A strip is 32 header words, one for each lane of a warp, then its pairs, then zeros up to a multiple of 16 bytes.
// Strip i starts at offsets[i] * 16 bytes of the data.
// - Header word of a lane: its mask in the low 16 bits; in the high ones its start, the number of pairs of the lanes
// before it.
//   Bit 4 * step + register of the mask stands for A-fragment register 0..3 of the k16 step 0..3 of mma.m16n8k16, and
//   equally of a warp's slice of wgmma m64nNk16: row lane / 4 + 8 * (register & 1), columns 16 * step + 2 * (lane % 4)
//   + 8 * (register >> 1) and the next one. It is set where the structure names either, whatever its value.
// - Pairs by ascending lane, within a lane by ascending bit. A pair is a word of two 16-bit values, that of the lower
// column in
//   the lower half, +0 where the structure does not name one, and there alone: packed_named. Modes of two terms have
//   the word of hi, then the word of lo.
//
// A whole strip is what shared memory takes for wgmma: 16 lines of 64 numbers, a line for each row, whose 16-byte chunk
// c lies at place c ^ (row % 8). Where values have two terms, eight lines of low parts follow eight of high ones. It
// has no header; two neighbouring numbers are a pair.
//
// Strips whose rows are scaled may be *marked*, format "strip16x64/<grain>/f16x3/marked": inverse scales tell how much
// a row loses (packed_row_mark), and all values lie beside as they are (ExactValues), so that sums that lost too much
// can be made again.
//
// A value v becomes one 16-bit number, rounded to nearest, or two: hi = rounded(s v) and lo = rounded(s v - hi), where
// lo is 0 unless hi is finite. s is a power of two for each row where the mode scales rows, else 1: see
// packed_scale_exponent.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

/// Elements of the format, and into how many terms a value is split. The x3 modes of f32 are named for the three
/// products (hi hi + hi lo + lo hi) that their multiplications take; f16_scaled has f32's first term alone, 11 bits.
/// Nothing is packed in tf32x3: an f32 as it lies is its own high term, of which tensor cores leave out 13 bits.
enum class PackedMode : unsigned char { f16x1, bf16x1, f16x3, bf16x3, f16_scaled, tf32x3 };

constexpr const char* name(PackedMode value) {
  switch (value) {
    case PackedMode::f16x1: return "f16x1";
    case PackedMode::bf16x1: return "bf16x1";
    case PackedMode::f16x3: return "f16x3";
    case PackedMode::bf16x3: return "bf16x3";
    case PackedMode::f16_scaled: return "f16_scaled";
    case PackedMode::tf32x3: return "tf32x3";
  }
  return nullptr;
}

constexpr const char* type_name(PackedMode) { return "PackedMode"; }

/// What a pair holds: the values of two neighbouring columns, for a dense operand of tensor cores, or two of four, for
/// a 2:4 sparse one. Whole: pairs of neighbours, zeros too, for an operand that lies in shared memory.
enum class PackedGrain : unsigned char { pair, four, whole };

constexpr const char* name(PackedGrain value) {
  switch (value) {
    case PackedGrain::pair: return "pair";
    case PackedGrain::four: return "four";
    case PackedGrain::whole: return "whole";
  }
  return nullptr;
}

constexpr const char* type_name(PackedGrain) { return "PackedGrain"; }

consteval int packed_strip_rows() { return 16; }
consteval int packed_strip_columns() { return 64; }
consteval int packed_lanes() { return 32; }
/// Words of a lane at a strip's begin.
constexpr int packed_lane_words(PackedGrain grain) {
  return grain == PackedGrain::whole ? 0 : grain == PackedGrain::four ? 2 : 1;
}
constexpr int packed_header_words(PackedGrain grain) { return packed_lane_words(grain) * packed_lanes(); }
constexpr int packed_header_bytes(PackedGrain grain) { return 4 * packed_header_words(grain); }
consteval int packed_unit_bytes() { return 16; }          ///< what offsets count in
consteval int packed_row_strip_multiple() { return 16; }  ///< row strips are rounded up to this
consteval int packed_most_pairs() {
  return 16 * packed_lanes();
}  ///< of a strip; where a pair is two of four columns half as many
constexpr int packed_most(PackedGrain grain) {
  return grain == PackedGrain::four ? packed_most_pairs() / 2 : packed_most_pairs();
}

/// 4-byte words of one pair.
constexpr int packed_pair_words(PackedMode mode) {
  return mode == PackedMode::f16x3 || mode == PackedMode::bf16x3 ? 2 : 1;
}
constexpr bool packed_is_f16(PackedMode mode) {
  return mode == PackedMode::f16x1 || mode == PackedMode::f16x3 || mode == PackedMode::f16_scaled;
}
/// Whether the mode's terms are stored in 16 bits, and not made where they are multiplied.
constexpr bool packed_stores_terms(PackedMode mode) { return mode != PackedMode::tf32x3; }
/// Whether the mode makes terms of f32, and leaves no 16-bit elements as they are.
constexpr bool packed_splits(PackedMode mode) { return mode != PackedMode::f16x1 && mode != PackedMode::bf16x1; }
/// Whether kernels that split f32, and 16-bit elements not at all, multiply these elements in this mode.
constexpr bool packed_mode_serves(PackedMode mode, Dtype element) {
  if (!packed_stores_terms(mode)) return false;
  if (element == Dtype::f32) return packed_splits(mode);
  return !packed_splits(mode) && packed_is_f16(mode) == (element == Dtype::f16);
}
/// Whether each row has a scale of its own.
constexpr bool packed_scales_rows(PackedMode mode) {
  return mode == PackedMode::f16x3 || mode == PackedMode::f16_scaled;
}

/// Units of 16 bytes of a strip in which so many pairs are named.
constexpr unsigned packed_strip_units(PackedGrain grain, unsigned pairs, int pair_words) {
  if (grain == PackedGrain::whole) pairs = static_cast<unsigned>(packed_most(grain));
  return (packed_header_bytes(grain) + 4 * pairs * static_cast<unsigned>(pair_words) + packed_unit_bytes() - 1) /
         packed_unit_bytes();
}

constexpr long long packed_row_strips(long long rows) {
  constexpr long long multiple = packed_strip_rows() * packed_row_strip_multiple();
  return (rows + multiple - 1) / multiple * packed_row_strip_multiple();
}
constexpr long long packed_k_blocks(long long cols) {
  return (cols + packed_strip_columns() - 1) / packed_strip_columns();
}

constexpr unsigned packed_header(unsigned mask, unsigned start) { return mask | start << 16; }
constexpr unsigned packed_mask(unsigned header) { return header & 0xffffU; }
constexpr unsigned packed_start(unsigned header) { return header >> 16; }

/// A value's first number as it is packed: -0 in place of +0, so that what the structure names can be told from what it
/// does not. Products and sums are the same.
constexpr unsigned short packed_named(unsigned short number) {
  return number == 0 ? static_cast<unsigned short>(0x8000) : number;
}

/// Where an element of a strip goes: the lane, its mask's bit, and the half of the pair.
struct PackedPlace {
  int lane;
  int bit;
  int half;
};

constexpr PackedPlace packed_place(int row, int column) {
  return {row % 8 * 4 + column % 8 / 2, column / 16 * 4 + column % 16 / 8 * 2 + row / 8, column % 2};
}
/// Where a pair comes from: its row in the strip, and its lower column there.
constexpr int packed_row(int lane, int bit) { return lane / 4 + 8 * (bit & 1); }
constexpr int packed_column(int lane, int bit) { return bit / 4 * 16 + lane % 4 * 2 + (bit >> 1 & 1) * 8; }

/// Where a term of a pair lies among the words that follow a strip's headers.
constexpr unsigned packed_word(PackedGrain grain, unsigned pair, int term, int pair_words) {
  const auto words = static_cast<unsigned>(pair_words), own = static_cast<unsigned>(term);
  if (grain != PackedGrain::whole) return pair * words + own;
  constexpr unsigned octet = 8 * packed_strip_columns() / 2;  // of eight lines
  return (pair / octet * words + own) * octet + pair % octet;
}

/// The number of an element among those of a whole strip's first terms, were they alone.
constexpr unsigned packed_whole_number(int row, int column) {
  return static_cast<unsigned>(row * packed_strip_columns() + (column / 8 ^ row % 8) * 8 + column % 8);
}

/// The exponent e of a row's scale s = 2^e, from the bits of the largest magnitude of its finite values: that becomes s
/// * largest in [2^13, 2^14), 0 where all are zero. e is at most 126, so that s and 1/s are normal: a row below 2^-113
/// stays smaller, and loses nothing, because then f16's smallest step is finer than f32's.
constexpr int packed_scale_exponent(unsigned largest_bits) {
  if (largest_bits == 0) return 0;
  const int exponent = 13 - (static_cast<int>(largest_bits >> 23) - 127);
  return exponent < 126 ? exponent : 126;
}
/// log2 of what finite scaled elements are below, and of the most that one loses beyond its rounding.
consteval int packed_largest_exponent() { return 14; }
consteval int packed_lost_exponent() { return -25; }
/// Below it a scaled element may lose more than its rounding: f16 has no smaller step than 2^-24, so that up to 2^-25
/// of it is lost, however small it is.
constexpr float packed_least_kept(PackedMode mode) { return packed_pair_words(mode) == 2 ? 0x1p-5F : 0x1p-14F; }

/// The last five bits of an inverse scale of a row of marked strips, which a power of two does not use: a bound of how
/// many of the row's elements lose more than their rounding, 0 or 1 + log2; or that all of the row is zero, where
/// nothing is lost.
constexpr unsigned packed_row_mark_bits() { return 0x1fU; }
constexpr unsigned packed_zero_row_mark() { return packed_row_mark_bits(); }
constexpr unsigned packed_row_mark(unsigned largest_bits, unsigned lossy) {
  if (largest_bits == 0) return packed_zero_row_mark();
  unsigned code = lossy > 0 ? 1 : 0;
  while (code > 0 && (1ULL << (code - 1)) < lossy) ++code;
  return code;
}
constexpr float packed_unmarked(float inverse) {
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, inverse) & ~packed_row_mark_bits());
}
/// The bits of 2^exponent, for a normal number.
constexpr unsigned packed_power_bits(int exponent) { return static_cast<unsigned>(exponent + 127) << 23; }

/// A nonzero that its strip does not hold.
struct alignas(8) LeftEntry {
  unsigned place;  ///< packed_left_place
  float value;     ///< as it is, not scaled
};

/// All of them, by row and in it by ascending column. Null where strips hold every nonzero.
struct LeftOver {
  const unsigned* row_starts;  ///< row_strips * 16 + 1
  const LeftEntry* entries;
};

/// The values of marked strips as they are, by row and in it by ascending column.
struct ExactValues {
  const float* values;
  const int* places;  ///< where the value of each number lies; null: there
  const int* firsts;  ///< row_strips * 16: the number of each row's first
  long long stride;   ///< values between two sets; 0 where the batch shares one
};

/// Packed values as kernels read them.
struct PackedStrips {
  const unsigned*
      offsets;  ///< row_strips * k_blocks + 1: where each strip starts, and where the last ends, in units of 16 bytes
  const unsigned char* data;  ///< 16-byte aligned and more
  const float* row_scales;    ///< 1 / s for row_strips * 16 rows; null where the mode has none
  unsigned row_strips;
  unsigned k_blocks;
  long long set_bytes;  ///< between two sets of values of a batch, of all that holds values alike; 0 where the batch
                        ///< shares one
  LeftOver left_over;   ///< empty where a strip holds all of its nonzeros
  ExactValues exact;    ///< of marked strips
};

/// The strips of one product of a batch.
constexpr PackedStrips packed_set(PackedStrips strips, long long product) {
  // Scales are stepped by bytes as well: a set's size is a multiple of theirs.
  if (strips.row_scales != nullptr) strips.row_scales += product * (strips.set_bytes / 4);
  if (strips.left_over.entries != nullptr)
    strips.left_over.entries += product * (strips.set_bytes / static_cast<long long>(sizeof(LeftEntry)));
  strips.data += product * strips.set_bytes;
  strips.exact.values += product * strips.exact.stride;
  return strips;
}

/// Where a nonzero of a strip goes: its row there, and the 16-bit number that it is among those of the strip's pairs.
constexpr unsigned packed_slot(int row, unsigned pair, int half) {
  return static_cast<unsigned>(row) << 10 | pair << 1 | static_cast<unsigned>(half);
}
constexpr int packed_slot_row(unsigned slot) { return static_cast<int>(slot >> 10); }
constexpr unsigned packed_slot_number(unsigned slot) { return slot & 0x3ffU; }

/// That of a nonzero which is left over: a number that none has where any is.
consteval unsigned packed_left_number() { return 0x3ff; }
constexpr unsigned packed_left_slot(int row) { return static_cast<unsigned>(row) << 10 | packed_left_number(); }

/// A strip's slots are read two at a time: where it has an odd number, one more follows.
constexpr unsigned packed_strip_slots(unsigned nonzeros) { return nonzeros + nonzeros % 2; }

/// A topology's part of packed strips: everything but the values. The nonzeros of a row are numbered by ascending
/// column, after those of the rows before.
struct PackedStructure {
  const unsigned* headers;  ///< packed_header_words for each strip
  const int* row_starts;    ///< 16 for each strip and for as many past the last k block: the number of the row's first
                            ///< nonzero from there on
  const unsigned* slot_offsets;  ///< strips + 1: where a strip's slots start
  const unsigned short*
      slots;  ///< packed_slot of each nonzero, strip by strip, there row by row; 0 where it follows an odd number
  const int* value_places;          ///< where the value of each number lies in the CSR order of A; null: there
  const unsigned* unit_offsets[2];  ///< PackedStrips::offsets where pairs have one word, and where they have two
  const unsigned* left_starts;      ///< LeftOver::row_starts, and the entries' places; null where nothing is left over
  const unsigned* left_places;
  const int* left_sources;  ///< where the value of each lies in the CSR order of A
  unsigned nonzeros;
  unsigned row_strips;
  unsigned k_blocks;
  unsigned units[2];  ///< of all strips: the last of each unit_offsets
  unsigned left;      ///< how many are left over
  PackedGrain grain;
};

}  // namespace vostok
