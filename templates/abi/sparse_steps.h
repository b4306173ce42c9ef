// The kernel that makes the structure of sparse strips, step by step: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/sparse_strips.h"

namespace vostok {

struct SparseStepTraits {
  IndexType index = IndexType::i32;  ///< of the columns
};

template <FieldsOf<SparseStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
}

/// In this order.
enum class SparseStep : int { mark_groups, count_passes, place_values };

/// Of all steps: each reads what those before it wrote.
struct SparseStepArgs {
  SparseStep step;
  const int* row_offsets;
  const void* column_indices;
  const int* value_positions;  ///< of a transpose: where values lie; else null
  unsigned* groups;            ///< zero at first
  unsigned* headers;
  unsigned* nonzero_counts;         ///< for each strip
  unsigned* unit_counts;            ///< the same
  const unsigned* nonzero_offsets;  ///< sums of nonzero_counts
  int* sources;
  long long rows;
  long long nonzeros;
  long long row_strips;
  long long strips;  ///< a multiple of sparse_tile_strips()
};

}  // namespace vostok
