// Packed runs, format "runs32/gap<bits>/<element>" version 1: a sparse matrix as streams of values and of gaps between
// columns, for products with few columns, which wait for the bytes of the weights. What the host, the kernels that pack
// and the kernels that multiply share.
//
// A row's nonzeros, by ascending column, become slots, and every 32 slots of a row are a run; the last run of a row may
// have fewer. Rows without nonzeros have no runs. A slot has a code of 4 or 8 bits that says how many columns it lies
// behind the slot before it, and a value. The largest code is an escape: it moves on that far, and its value is zero
// and stands for no nonzero. A gap g is g / escape escapes, then a nonzero with code g % escape. The first slot of a
// run has its column in `starts`, and code 0 where it is a nonzero; where it is an escape, its code is one, and the
// start lies as far before it. Slots past a run's last have code 0 and value zero.
//
// 32 runs that follow one another, of whichever rows, are a group: a warp reads 16 bytes of each at once. Group g has
// the codes [16-byte piece][run][16 bytes] and, elsewhere, the values the same way. Of a run's codes, 4-bit ones lie so
// that a word has those of slots 0 to 3 in the low halves of its bytes and of slots 4 to 7 in the high halves; 8-bit
// ones are its bytes.
#pragma once

namespace vostok {

consteval int run_slots() { return 32; }
consteval int group_runs() { return 32; }
consteval int run_piece_bytes() { return 16; }  ///< of a run that lie together

/// The code that stands for no nonzero, and how many columns it moves on.
constexpr int run_escape(int gap_bits) { return (1 << gap_bits) - 1; }

/// Slots between two columns of a row that far apart: escapes, and the nonzero.
constexpr long long slots_of_gap(long long gap, int gap_bits) { return gap / run_escape(gap_bits) + 1; }

/// 16-byte pieces of a run's codes, and of its values.
constexpr int code_pieces(int gap_bits) { return run_slots() * gap_bits / 8 / run_piece_bytes(); }
constexpr int value_pieces(int element_bytes) { return run_slots() * element_bytes / run_piece_bytes(); }

/// Where a slot's code lies: a word of all codes, and the bits below it.
struct RunCodePlace {
  long long word;
  int shift;
};

constexpr RunCodePlace run_code_place(long long run, int slot, int gap_bits) {
  const int slots_of_word = 32 / gap_bits;
  const int word = slot / slots_of_word, within = slot % slots_of_word;
  const long long piece = run / group_runs() * code_pieces(gap_bits) + word / 4;
  return {(piece * group_runs() + run % group_runs()) * 4 + word % 4, within % 4 * 8 + within / 4 * 4};
}

/// The first element of a piece of a run's values.
constexpr long long run_piece_place(long long run, int piece, int element_bytes) {
  return ((run / group_runs() * value_pieces(element_bytes) + piece) * group_runs() + run % group_runs()) *
         (run_piece_bytes() / element_bytes);
}

/// A topology's part of packed runs: everything but the values.
struct PackedRuns {
  const unsigned* row_runs;      ///< rows + 1: the number of each row's first run
  const unsigned short* starts;  ///< of each run: the column that its first code counts from
  const unsigned char* counts;   ///< of each run: its slots, escapes included
  const unsigned* codes;         ///< whole groups
  const int* firsts;  ///< of each run: the nonzero that its first one is, as the matrix is walked; the others follow it
  const int* positions;  ///< where each nonzero's value lies in the CSR order of A; null: they are walked in that order
  unsigned runs;
  unsigned groups;
  int gap_bits;
};

}  // namespace vostok
