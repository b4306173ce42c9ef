// The kernels that check, copy and derive the forms of a CSR structure: what host and kernel share.
#pragma once

#include "abi/chunk_start.h"
#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/strip.h"

namespace vostok {

/// How an array of indices is stored.
enum class IntegerType : unsigned char { u16, i32, i64 };

constexpr const char* name(IntegerType value) {
  switch (value) {
    case IntegerType::u16: return "u16";
    case IntegerType::i32: return "i32";
    case IntegerType::i64: return "i64";
  }
  return nullptr;
}

constexpr const char* type_name(IntegerType) { return "IntegerType"; }

constexpr int size_of(IntegerType value) { return value == IntegerType::u16 ? 2 : value == IntegerType::i32 ? 4 : 8; }

/// What the kernels of this folder have in common: they are short, and nothing of them is tuned.
struct StepConfig {
  int threads = 256;
};

template <FieldsOf<StepConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

/// Dynamic shared memory of kernels that sum over a block: at most one 64-bit sum per warp.
consteval int block_sum_shared_bytes() { return 8 * 256 / 32; }

/// Neighbouring columns of a row that make a run: less than the narrowest tile of the families that take tiles has many
/// by chance.
consteval int run_columns() { return 32; }

/// What is measured of a structure, on the device. All zero before the first kernel: "first" is therefore kept as the
/// largest of (all ones - position), and zero means that there is none.
struct CsrMeasures {
  unsigned long long bad_row_inverted;     ///< of a row whose offsets decrease or leave [0, nonzeros]
  unsigned long long bad_column_inverted;  ///< of a position whose column is outside [0, cols)
  unsigned long long sum_of_squares;       ///< of the row lengths
  unsigned long long empty_rows;
  unsigned long long longest_row;
  unsigned long long run_ends;  ///< positions that end a run of `run_columns()` columns
  unsigned long long spanned;   ///< columns from a row's first entry to its last, of all rows
  unsigned unsorted;            ///< not 0: columns descend somewhere in a row
  unsigned duplicates;          ///< not 0: a row names a column twice in a row
};

/// The first position noted in an inverted field, or -1.
constexpr long long first_noted(unsigned long long inverted) {
  return inverted == 0 ? -1 : static_cast<long long>(~inverted);
}

struct CheckRowsTraits {
  IntegerType source = IntegerType::i32;
  IntegerType stored = IntegerType::i32;
  bool copy = true;  ///< false: only measured
};

struct CheckRowsArgs {
  const void* source;  ///< rows + 1 offsets
  void* stored;
  CsrMeasures* measures;
  long long rows;
  long long nonzeros;
};

struct CheckColumnsTraits {
  IntegerType source = IntegerType::i32;
  IntegerType stored = IntegerType::i32;
  bool wide_offsets = false;
  bool copy = true;  ///< false: only measured
  bool count_columns = false;
};

struct CheckColumnsArgs {
  const void* source;
  void* stored;
  const void* row_offsets;  ///< not yet known to be valid: they are only searched
  unsigned* column_counts;  ///< cols, zero before
  CsrMeasures* measures;
  long long rows;
  long long cols;
  long long nonzeros;
};

struct ScanTraits {
  bool wide = false;  ///< sums are kept and stored in 64 bits, else in 32
};

/// Entries that one step of a scan's block takes.
consteval int scan_tile() { return 1024; }

/// In this order.
enum class ScanStep : int { sum, apply };

struct ScanArgs {
  ScanStep step;
  const unsigned* counts;
  void* sums;     ///< one per block, of the sums' type
  void* offsets;  ///< count + 1: exclusive sums and the total
  long long count;
  long long chunk;  ///< entries of a block: a multiple of the tile
};

/// What becomes of each row's length.
enum class RowMeasure : unsigned char {
  order_key,    ///< longest_row - length: ascending keys are descending lengths
  strip_count,  ///< strips of `strip_entries` nonzeros
};

constexpr const char* name(RowMeasure value) {
  switch (value) {
    case RowMeasure::order_key: return "order_key";
    case RowMeasure::strip_count: return "strip_count";
  }
  return nullptr;
}

constexpr const char* type_name(RowMeasure) { return "RowMeasure"; }

struct MeasureRowsTraits {
  RowMeasure measure = RowMeasure::order_key;
  bool wide_offsets = false;
};

struct MeasureRowsArgs {
  const void* row_offsets;
  unsigned* measures;  ///< rows
  long long rows;
  long long longest_row;
  int strip_entries;
};

struct RankRowsTraits {
  bool wide_offsets = false;
};

/// Rows that rank_rows takes at most: each block keeps all lengths in shared memory.
consteval int most_ranked_rows() { return 8192; }
/// Lanes that compare one row with all others.
consteval int lanes_per_ranked_row() { return 8; }

struct RankRowsArgs {
  const void* row_offsets;
  int* order;  ///< rows, longest first; of equal ones the first first
  long long rows;
};

consteval int rank_rows_shared_bytes() { return 4 * most_ranked_rows(); }

struct FillStripsTraits {
  IntegerType offsets = IntegerType::i32;  ///< the one type: strips number their nonzeros in 32 bits
};

struct FillStripsArgs {
  const int* row_offsets;
  const int* strip_offsets;  ///< rows + 1: number of each row's first strip
  Strip* strips;
  long long rows;
  long long strip_count;  ///< padding included
  int strip_entries;
};

struct FillChunksTraits {
  IntegerType offsets = IntegerType::i32;  ///< the one type: chunks number their nonzeros in 32 bits
};

struct FillChunksArgs {
  const int* row_offsets;
  ChunkStart* chunks;  ///< chunk_count + 1
  long long rows;
  long long chunk_count;
  int chunk_items;
};

/// What is written for every nonzero.
struct ExpandRowsTraits {
  bool wide_offsets = false;
  bool linear = false;               ///< row * cols + column instead of the row
  IndexType index = IndexType::i32;  ///< of the columns, read where linear
  bool wide_output = false;          ///< 64-bit results
};

struct ExpandRowsArgs {
  const void* row_offsets;
  const void* column_indices;
  void* output;
  long long rows;
  long long cols;
  long long nonzeros;
};

struct GatherTraits {
  IntegerType source = IntegerType::i32;
  IntegerType stored = IntegerType::i32;
  bool permuted = true;  ///< false: a plain conversion
};

struct GatherArgs {
  const void* source;
  const int* positions;
  void* stored;
  long long count;
};

template <FieldsOf<CheckRowsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("source", traits.source);
  visit("stored", traits.stored);
  visit("copy", traits.copy);
}

template <FieldsOf<CheckColumnsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("source", traits.source);
  visit("stored", traits.stored);
  visit("wide_offsets", traits.wide_offsets);
  visit("copy", traits.copy);
  visit("count_columns", traits.count_columns);
}

template <FieldsOf<ScanTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("wide", traits.wide);
}

template <FieldsOf<MeasureRowsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("measure", traits.measure);
  visit("wide_offsets", traits.wide_offsets);
}

template <FieldsOf<RankRowsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("wide_offsets", traits.wide_offsets);
}

template <FieldsOf<FillStripsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("offsets", traits.offsets);
}

template <FieldsOf<FillChunksTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("offsets", traits.offsets);
}

template <FieldsOf<ExpandRowsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("wide_offsets", traits.wide_offsets);
  visit("linear", traits.linear);
  visit("index", traits.index);
  visit("wide_output", traits.wide_output);
}

template <FieldsOf<GatherTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("source", traits.source);
  visit("stored", traits.stored);
  visit("permuted", traits.permuted);
}

}  // namespace vostok
