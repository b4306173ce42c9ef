// Where the rows of a CSR structure with sorted rows enter each panel of columns.
#pragma once

#include "abi/fixed.h"
#include "abi/panels.h"
#include "topology/sorted_row.h"

namespace vostok {

/// A thread for each start.
template <class F>
__global__ void __launch_bounds__(F::config.threads) find_panel_starts(const __grid_constant__ PanelStepArgs args) {
  constexpr IntegerType type = integer_type(F::traits.index);
  for (long long i = thread_in_grid(); i < args.start_count; i += threads_in_grid()) {
    const long long panel = i / args.rows;
    const long long row = i - panel * args.rows;
    args.starts[i] = first_not_below<type>(args.column_indices, args.row_offsets[row], args.row_offsets[row + 1],
                                           panel * args.panel_rows);
  }
}

}  // namespace vostok
