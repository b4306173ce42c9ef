// The kernel that makes the structure of packed strips, step by step: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"

namespace vostok {

struct PackedStepTraits {
  IndexType index = IndexType::i32;  ///< of the columns
  PackedGrain grain = PackedGrain::pair;
};

template <FieldsOf<PackedStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
  visit("grain", traits.grain);
}

/// In this order; place_values where columns do not ascend in every row, or values lie elsewhere, place_left where the
/// grain leaves nonzeros over.
enum class PackedStep : int { mark_columns, count_pairs, start_rows, place_nonzeros, place_values, place_left };

/// Of all steps: each reads what those before it wrote.
struct PackedStepArgs {
  PackedStep step;
  const int* row_offsets;
  const void* column_indices;
  const int* value_positions;  ///< of a transpose: where values lie; else null
  unsigned long long*
      row_masks;  ///< for each row of each strip the columns that it names there, bit c for column c; zero at first
  unsigned* slot_counts;     ///< for each strip
  unsigned* unit_counts[2];  ///< the same, with pairs of one word and of two
  unsigned* left_counts;     ///< for each of the strips' rows: how many are left over
  unsigned* headers;         ///< from here on PackedStructure's
  int* row_starts;
  const unsigned* slot_offsets;
  unsigned short* slots;
  int* value_places;
  const unsigned* left_starts;
  unsigned* left_places;
  int* left_sources;
  long long rows;
  long long nonzeros;
  long long row_strips;
  long long strips;
  long long k_blocks;
};

}  // namespace vostok
