// The kernel that makes the structure of packed runs, step by step: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_runs.h"

namespace vostok {

struct RunStepTraits {
  IndexType index = IndexType::i32;  ///< of the columns
};

template <FieldsOf<RunStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
}

/// In this order.
enum class RunStep : int { count_slots, count_row_runs, place_slots };

/// Of all steps: each reads what those before it wrote.
struct RunStepArgs {
  RunStep step;
  const int* row_offsets;
  const void* column_indices;
  unsigned* slots;               ///< of each nonzero: escapes before it, and itself
  const unsigned* slots_before;  ///< sums of them, and of all behind the last
  unsigned* run_counts;          ///< of each row
  const unsigned* row_runs;      ///< sums of them
  unsigned short* starts;
  unsigned char* counts;
  unsigned* codes;  ///< zero at first
  int* firsts;
  long long rows;
  long long nonzeros;
  int gap_bits;
};

}  // namespace vostok
