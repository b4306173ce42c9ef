// Which elements of a dense matrix become nonzeros: what host and kernel share. One pair of kernels counts and writes
// them, for every kind of mask.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

enum class MaskKind : unsigned char {
  largest,    ///< of the largest magnitudes of a dense matrix, by a rule
  uniform,    ///< of the largest random keys of a row, by a rule
  blocks,     ///< square blocks; of the largest random keys of a row of blocks, by a rule
  attention,  ///< a band, and beyond it at random by the distance from the diagonal
  banded      ///< a band
};

constexpr const char* name(MaskKind value) {
  switch (value) {
    case MaskKind::largest: return "largest";
    case MaskKind::uniform: return "uniform";
    case MaskKind::blocks: return "blocks";
    case MaskKind::attention: return "attention";
    case MaskKind::banded: return "banded";
  }
  return nullptr;
}

constexpr const char* type_name(MaskKind) { return "MaskKind"; }

/// Keys of at least `lower` are kept, and of those that are one less the first `ties`, in row-major order.
struct SelectionRule {
  unsigned long long lower;
  unsigned long long ties;
};

struct MaskTraits {
  MaskKind kind = MaskKind::largest;
  Dtype element = Dtype::f32;  ///< of the dense matrix; f32 where there is none
};

struct MaskArgs {
  const void* dense = nullptr;
  long long leading = 0;                 ///< elements between rows of the dense matrix
  const SelectionRule* rules = nullptr;  ///< one for every rows_per_rule rows
  long long rows_per_rule = 1;
  const unsigned* probabilities = nullptr;  ///< of 2^32, by distance from the diagonal
  unsigned long long seed = 0;
  long long rows = 0;
  long long cols = 0;
  long long band_before = 0;  ///< the band of a row is the columns [row - band_before, row + band_after]
  long long band_after = 0;
  bool causal = false;  ///< nothing right of the diagonal

  unsigned* kept = nullptr;                ///< of each row; without the ties that other rows compete for
  unsigned* ties = nullptr;                ///< of each row, where rules span rows
  const long long* tie_offsets = nullptr;  ///< ties in the rows before; null where a rule is one row's
  const long long* row_offsets = nullptr;
  int* columns = nullptr;
  void* values = nullptr;  ///< kept elements of the dense matrix; null: not wanted
};

struct SelectTraits {
  MaskKind kind = MaskKind::largest;
  Dtype element = Dtype::f32;
};

/// Where a search for the k-th largest key stands: `prefix` holds the digits that are known.
struct SelectState {
  unsigned long long remaining;  ///< rank of the key among those that share the prefix
  unsigned prefix;
};

struct SelectArgs {
  const void* dense = nullptr;
  long long leading = 0;
  unsigned long long seed = 0;
  long long rows = 0;
  long long cols = 0;
  long long base_count = 0;                    ///< keys that each row keeps, rows alone; of the whole matrix otherwise
  long long extra_count = 0;                   ///< rows that keep one more, spread evenly
  SelectionRule* rules = nullptr;              ///< result: one a row, or one
  SelectState* state = nullptr;                ///< of the whole matrix
  unsigned long long* digit_counts = nullptr;  ///< 256, zero before each step
  int shift = 0;                               ///< of the digit in question
};

/// Dynamic shared memory of the selection: counts of digits, sums over the block, the state.
consteval int select_shared_bytes() { return 256 * 8 + 64 + 16; }

struct ToDenseTraits {
  Dtype element = Dtype::f32;
  IndexType index = IndexType::i32;
  bool wide_offsets = false;
  bool adds = false;  ///< columns may repeat: their values add up
};

struct ToDenseArgs {
  const void* row_offsets;
  const void* column_indices;
  const void* values;
  void* dense;
  long long cols;
  long long leading;
};

template <FieldsOf<MaskTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("kind", traits.kind);
  visit("element", traits.element);
}

template <FieldsOf<SelectTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("kind", traits.kind);
  visit("element", traits.element);
}

template <FieldsOf<ToDenseTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("index", traits.index);
  visit("wide_offsets", traits.wide_offsets);
  visit("adds", traits.adds);
}

}  // namespace vostok
