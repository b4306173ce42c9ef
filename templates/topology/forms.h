// What is derived from a valid CSR structure, element by element: row keys and strip counts, the strip table, row
// numbers and linear indices, gathered and converted index arrays.
#pragma once

#include "abi/fixed.h"
#include "topology/integer.h"

namespace vostok {

template <class F>
__global__ void __launch_bounds__(F::config.threads) measure_rows(const __grid_constant__ MeasureRowsArgs args) {
  constexpr IntegerType offsets = offset_type(F::traits.wide_offsets);
  for (long long row = thread_in_grid(); row < args.rows; row += threads_in_grid()) {
    const long long length =
        read_integer<offsets>(args.row_offsets, row + 1) - read_integer<offsets>(args.row_offsets, row);
    if constexpr (F::traits.measure == RowMeasure::order_key)
      args.measures[row] = static_cast<unsigned>(args.longest_row - length);
    else args.measures[row] = static_cast<unsigned>((length + args.strip_entries - 1) / args.strip_entries);
  }
}

/// Rows are cut into strips from their start; what the table has room for beyond them is empty.
template <class F>
__global__ void __launch_bounds__(F::config.threads) fill_strips(const __grid_constant__ FillStripsArgs args) {
  constexpr IntegerType offsets = F::traits.offsets;
  const int nonzeros = args.row_offsets[args.rows];
  const int used = args.strip_offsets[args.rows];
  for (long long number = thread_in_grid(); number < args.strip_count; number += threads_in_grid()) {
    // Room that is left over reads as further strips of row 0 without nonzeros.
    Strip strip{0, nonzeros, nonzeros, 0};
    if (number < used) {
      const long long row = row_of<offsets>(args.strip_offsets, args.rows, number);
      const int first = args.strip_offsets[row];
      const long long begin = args.row_offsets[row] + (number - first) * args.strip_entries;
      const long long row_end = args.row_offsets[row + 1];
      strip = {static_cast<int>(row), static_cast<int>(begin),
               static_cast<int>(min(begin + args.strip_entries, row_end)), first};
    }
    args.strips[number] = strip;
  }
}

/// The row, or the linear index, of every nonzero.
template <class F>
__global__ void __launch_bounds__(F::config.threads) expand_rows(const __grid_constant__ ExpandRowsArgs args) {
  constexpr auto traits = F::traits;
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    long long value = row_of<offset_type(traits.wide_offsets)>(args.row_offsets, args.rows, i);
    if constexpr (traits.linear)
      value = value * args.cols + read_integer<integer_type(traits.index)>(args.column_indices, i);
    write_integer<offset_type(traits.wide_output)>(args.output, i, value);
  }
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) gather(const __grid_constant__ GatherArgs args) {
  for (long long i = thread_in_grid(); i < args.count; i += threads_in_grid()) {
    long long from = i;
    if constexpr (F::traits.permuted) from = args.positions[i];
    write_integer<F::traits.stored>(args.stored, i, read_integer<F::traits.source>(args.source, from));
  }
}

}  // namespace vostok
