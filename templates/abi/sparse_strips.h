// Sparse strips, format "strip16x64/2:4/<type>" version 1: the values of a sparse matrix as tensor cores take an
// operand that has two of every four neighbouring elements (parts/sparse_mma.h, parts/wgmma_sparse.h). What the host,
// the kernels that pack and those that multiply share.
//
// The matrix as kernels walk it is cut into strips of 16 rows x 64 columns, numbered and padded as packed strips are
// (abi/packed_strips.h). A strip has two steps of 32 columns. A step is multiplied in passes: of every four columns of
// a row, the first pass takes the first two nonzeros, the second pass the others. So a step has 0, 1 or 2 passes, and
// the sum over its passes is exact.
//
// A strip is 16 header bytes, then its passes: those of step 0, then those of step 1. It starts at offsets[i] * 16
// bytes of the data.
// - The header's first word: passes of step 0, of step 1, then the most that any of the four strips of the same 64 rows
// has of step 0, of
//   step 1; a byte each. Three words of zeros follow.
// - A pass is the four registers of each of 32 lanes, then 16 words of metadata: the word of lane 4 g + i, i = 0 and 1,
// is number 2 g + i.
//   Register r of lane 4 g + t holds what the pass takes of row g + 8 * (r & 1), columns 32 * step + 16 * (r >> 1) + 4
//   t to 4 t + 3.
// Two places of every four are named, whether or not the pass takes a value there; where it does not, and there alone,
// the value is +0: see sparse_places. "Nonzero" is what the structure names, whatever its value. Values have 16 bits
// and are moved as they are, but for packed_named.
#pragma once

#include "abi/enums.h"
#include "abi/packed_strips.h"

namespace vostok {

consteval int sparse_steps() { return 2; }  ///< of a strip
consteval int sparse_step_columns() { return packed_strip_columns() / sparse_steps(); }
consteval int sparse_registers() { return 4; }
consteval int sparse_most_passes() { return 2; }  ///< of a step
consteval int sparse_header_bytes() { return 16; }
consteval int sparse_metadata_words() { return 16; }
consteval int sparse_metadata_begin() {
  return packed_lanes() * 4 * sparse_registers();
}  ///< bytes of a pass before its metadata
consteval int sparse_pass_bytes() { return sparse_metadata_begin() + 4 * sparse_metadata_words(); }
consteval int sparse_tile_strips() { return 4; }  ///< of 64 rows

/// Units of 16 bytes of a strip.
constexpr unsigned sparse_strip_units(unsigned passes) {
  return (sparse_header_bytes() + passes * static_cast<unsigned>(sparse_pass_bytes())) / packed_unit_bytes();
}

/// A strip's nonzeros, a word for each lane: 16 bits for each step, of these four for each register, one for each of
/// its columns.
struct SparsePlace {
  int lane;
  int bit;
};

constexpr SparsePlace sparse_place(int row, int column) {
  return {row % 8 * 4 + column % 16 / 4,
          column / sparse_step_columns() * 16 + column % sparse_step_columns() / 16 * 8 + row / 8 * 4 + column % 4};
}
/// Where the first of a register's four columns lies in the strip.
constexpr int sparse_row(int lane, int index) { return lane / 4 + 8 * (index & 1); }
constexpr int sparse_column(int lane, int step, int index) {
  return step * sparse_step_columns() + (index >> 1) * 16 + lane % 4 * 4;
}
/// The four bits of a register.
constexpr unsigned sparse_group(unsigned word, int step, int index) { return word >> (step * 16 + index * 4) & 0xfU; }

/// Of the nonzeros among four columns those that a pass takes.
constexpr unsigned sparse_taken(unsigned group, int pass) {
  const unsigned after_first = group & (group - 1);
  const unsigned after_second = after_first & (after_first - 1);
  return pass == 0 ? group ^ after_second : after_second;
}

/// Passes of four columns.
constexpr unsigned sparse_passes(unsigned group) { return group == 0 ? 0 : sparse_taken(group, 1) == 0 ? 1 : 2; }

/// The two places that metadata name, the lower one first, where a pass takes `taken`, at most two: those, or a
/// neighbour of the only one, or the last two.
struct SparsePlaces {
  unsigned lower;
  unsigned higher;

  constexpr unsigned metadata() const { return lower | higher << 2; }
};

constexpr SparsePlaces sparse_places(unsigned taken) {
  unsigned lower = 0;
  while (lower < 2 && (taken >> lower & 1U) == 0) ++lower;
  unsigned higher = 3;
  while (higher > lower + 1 && (taken >> higher & 1U) == 0) --higher;
  return {lower, higher};
}

/// The first word of a strip's header.
struct SparseHeader {
  unsigned word;

  constexpr unsigned passes(int step) const { return word >> 8 * step & 0xffU; }
  /// The most of the strips of the same 64 rows.
  constexpr unsigned tile_passes(int step) const { return word >> (16 + 8 * step) & 0xffU; }
  constexpr unsigned all_passes() const { return passes(0) + passes(1); }
};

constexpr SparseHeader sparse_header(unsigned own, unsigned tile) { return {own | tile << 16}; }
/// Passes of both steps, as a half of the header has them.
constexpr unsigned sparse_pass_pair(unsigned first, unsigned second) { return first | second << 8; }

/// A topology's part of sparse strips: everything but the values.
struct SparseStructure {
  const unsigned* groups;           ///< 32 words for each strip: where its nonzeros are
  const unsigned* headers;          ///< the first word of each strip's header
  const unsigned* nonzero_offsets;  ///< strips + 1: the number of each strip's first nonzero
  const unsigned* unit_offsets;     ///< strips + 1: PackedStrips::offsets
  const int* sources;  ///< for each nonzero, strip by strip, lane by lane, by ascending bit: where its value lies in
                       ///< the CSR order of A
  unsigned row_strips;
  unsigned k_blocks;
  unsigned units;  ///< of all strips: the last of unit_offsets
};

}  // namespace vostok
