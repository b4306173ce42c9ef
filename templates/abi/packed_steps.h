// The kernels that make the structure of packed strips: what host and kernels share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"

namespace vostok {

struct PackedStepTraits {
  IndexType index = IndexType::i32;  ///< of the columns
  bool gathered = false;             ///< a transpose: values lie where value_positions says
};

template <FieldsOf<PackedStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
  visit("gathered", traits.gathered);
}

/// Of all steps: each reads what those before it wrote.
struct PackedStepArgs {
  const int* row_offsets;
  const void* column_indices;
  const int* value_positions;
  unsigned long long* row_masks;  ///< for each row of each strip the columns that it names there, bit c for column c; zero at first
  int* row_starts;                ///< and the number of its first nonzero there
  unsigned* nonzero_counts;       ///< for each strip
  unsigned* unit_counts[2];       ///< the same, with pairs of one word and of two
  unsigned* headers;              ///< from here on PackedStructure's
  int* row_bases;
  const unsigned* nonzero_offsets;
  unsigned short* slots;
  int* all_row_offsets;
  int* value_places;
  long long rows;
  long long nonzeros;
  long long row_strips;
  long long strips;
  long long k_blocks;
};

}  // namespace vostok
