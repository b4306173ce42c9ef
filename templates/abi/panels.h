// Panels: a sparse matrix cut along k, so that the rows of B which a panel's entries name fit in shared memory. What
// the topology makes and kernels read.
//
// Panel p holds the columns [p * panel_rows, (p + 1) * panel_rows) of A, which name as many rows of B. A's rows are
// sorted, so that the entries of a row in a panel are neighbours in CSR order: where they start is all there is to
// know.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

constexpr long long panel_count(long long cols, int panel_rows) { return (cols + panel_rows - 1) / panel_rows; }

/// Starts of a matrix: [panels + 1, rows], the place in CSR order of a row's first entry in a panel or behind it. The
/// last line is where rows end.
constexpr long long panel_start_count(long long rows, long long cols, int panel_rows) {
  return (panel_count(cols, panel_rows) + 1) * rows;
}

/// The step that makes them.
struct PanelStepTraits {
  IndexType index = IndexType::i32;
};

struct PanelStepArgs {
  const int* row_offsets;
  const void* column_indices;
  int* starts;
  long long rows;
  long long start_count;
  int panel_rows;
};

template <FieldsOf<PanelStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
}

}  // namespace vostok
