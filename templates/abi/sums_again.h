// What a kernel reads to make a sum of an SpMM again, which tensor cores left unfit for C (spmm/sums_again.h).
#pragma once

#include "abi/packed_strips.h"

namespace vostok {

/// B as the caller has it.
struct WholeDense {
  const void* first;
  long long row_step;     ///< elements between two rows
  long long column_step;  ///< the same of columns
  long long stride;       ///< elements between two B of a batch
};

/// How the strips of A lie: packed ones of a mode and grain, or sparse ones (abi/sparse_strips.h), whose mode says the
/// type.
struct StripsKind {
  PackedMode mode;
  PackedGrain grain;
  bool sparse;
  bool marked;  ///< packed strips are, so that values are known as they are
};

}  // namespace vostok
