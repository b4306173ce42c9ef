// The kernels that make the structure of sparse strips: what host and kernels share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/sparse_strips.h"

namespace vostok {

struct SparseStepTraits {
  IndexType index = IndexType::i32;  ///< of the columns
  bool gathered = false;             ///< a transpose: values lie where value_positions says
};

template <FieldsOf<SparseStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
  visit("gathered", traits.gathered);
}

/// Of all steps: each reads what those before it wrote.
struct SparseStepArgs {
  const int* row_offsets;
  const void* column_indices;
  const int* value_positions;
  unsigned* groups;  ///< zero at first
  unsigned* headers;
  unsigned* nonzero_counts;         ///< for each strip
  unsigned* unit_counts;            ///< the same
  const unsigned* nonzero_offsets;  ///< sums of nonzero_counts
  int* sources;
  long long rows;
  long long nonzeros;
  long long row_strips;
  long long strips;  ///< a multiple of sparse_tile_strips
};

}  // namespace vostok
