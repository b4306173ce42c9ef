// Checks, measures and copies a CSR structure. Nothing here trusts the arrays: offsets are searched, never followed.
#pragma once

#include "abi/fixed.h"
#include "parts/shared.h"
#include "parts/warp.h"
#include "topology/block_sum.h"
#include "topology/integer.h"

namespace vostok {

struct RowTotals {
  BlockSum<unsigned long long, 256> sum;
};

/// Offsets are copied; row lengths are measured.
template <class F>
__global__ void __launch_bounds__(F::config.threads) check_rows(const __grid_constant__ CheckRowsArgs args) {
  static_assert(F::config.threads == 256, "check_rows: its shared memory is for 256 threads");
  auto& shared = dynamic_shared<RowTotals>();
  unsigned long long squares = 0, empty = 0, longest = 0;
  for (long long row = thread_in_grid(); row <= args.rows; row += threads_in_grid()) {
    const long long begin = read_integer<F::traits.source>(args.source, row);
    if constexpr (F::traits.copy) write_integer<F::traits.stored>(args.stored, row, begin);
    const bool past_rows = row == args.rows;
    const long long end = past_rows ? args.nonzeros : read_integer<F::traits.source>(args.source, row + 1);
    const bool bad = (row == 0 && begin != 0) || (past_rows ? begin != end : end < begin || end > args.nonzeros);
    if (bad) atomicMax(&args.measures->bad_row_inverted, ~static_cast<unsigned long long>(row));
    if (bad || past_rows) continue;
    const auto length = static_cast<unsigned long long>(end - begin);
    squares += length * length;
    empty += length == 0 ? 1 : 0;
    longest = length > longest ? length : longest;
  }
  const unsigned long long all_squares = block_sum(squares, shared.sum).total;
  const unsigned long long all_empty = block_sum(empty, shared.sum).total;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned long long other = shuffle_xor(longest, distance);
    longest = other > longest ? other : longest;
  }
  if (threadIdx.x % 32 == 0 && longest > 0) atomicMax(&args.measures->longest_row, longest);
  if (threadIdx.x != 0) return;
  if (all_squares > 0) atomicAdd(&args.measures->sum_of_squares, all_squares);
  if (all_empty > 0) atomicAdd(&args.measures->empty_rows, all_empty);
}

/// Whether the columns before `position` in its row are its column's neighbours, as many as make a run. Where rows
/// ascend the first of them tells.
template <class F>
__device__ bool ends_run(const CheckColumnsArgs& args, long long position, long long column) {
  constexpr int before = run_columns() - 1;
  if (position < before || read_integer<F::traits.source>(args.source, position - before) != column - before)
    return false;
  constexpr IntegerType offsets = offset_type(F::traits.wide_offsets);
  return read_integer<offsets>(args.row_offsets, row_of<offsets>(args.row_offsets, args.rows, position)) <=
         position - before;
}

/// Columns from a row's first entry to its last, of the rows of a thread.
template <class F>
__device__ unsigned long long spanned_columns(const CheckColumnsArgs& args) {
  constexpr IntegerType offsets = offset_type(F::traits.wide_offsets);
  unsigned long long spanned = 0;
#pragma unroll 1
  for (long long row = thread_in_grid(); row < args.rows; row += threads_in_grid()) {
    const long long begin = read_integer<offsets>(args.row_offsets, row),
                    end = read_integer<offsets>(args.row_offsets, row + 1);
    if (begin < 0 || begin >= end || end > args.nonzeros) continue;
    const long long between =
        read_integer<F::traits.source>(args.source, end - 1) - read_integer<F::traits.source>(args.source, begin);
    spanned += static_cast<unsigned long long>(between < 0 ? -between : between) + 1;
  }
  return spanned;
}

/// Columns are copied into the stored type, checked against their range and their predecessor, and counted; so are ends
/// of runs, and what rows span.
template <class F>
__global__ void __launch_bounds__(F::config.threads) check_columns(const __grid_constant__ CheckColumnsArgs args) {
  constexpr IntegerType offsets = offset_type(F::traits.wide_offsets);
  bool unsorted = false, duplicates = false;
  unsigned long long run_ends = 0;
#pragma unroll 1  // unrolled, some architectures spill
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const long long column = read_integer<F::traits.source>(args.source, i);
    if constexpr (F::traits.copy) write_integer<F::traits.stored>(args.stored, i, column);
    if (column < 0 || column >= args.cols) {
      atomicMax(&args.measures->bad_column_inverted, ~static_cast<unsigned long long>(i));
      continue;
    }
    if constexpr (F::traits.count_columns) atomicAdd(args.column_counts + column, 1U);
    if (ends_run<F>(args, i, column)) ++run_ends;
    const long long previous = i > 0 ? read_integer<F::traits.source>(args.source, i - 1) : -1;
    if (previous < column) continue;
    // Most columns ascend, so the row is rarely searched for.
    const long long row = row_of<offsets>(args.row_offsets, args.rows, i);
    if (read_integer<offsets>(args.row_offsets, row) >= i) continue;
    unsorted = unsorted || previous > column;
    duplicates = duplicates || previous == column;
  }
  run_ends = warp_sum<1>(run_ends);
  const unsigned long long spanned = warp_sum<1>(spanned_columns<F>(args));
  if (threadIdx.x % 32 == 0 && run_ends > 0) atomicAdd(&args.measures->run_ends, run_ends);
  if (threadIdx.x % 32 == 0 && spanned > 0) atomicAdd(&args.measures->spanned, spanned);
  const int any_unsorted = __syncthreads_or(unsorted);
  const int any_duplicates = __syncthreads_or(duplicates);
  if (threadIdx.x != 0) return;
  if (any_unsorted != 0) atomicOr(&args.measures->unsorted, 1U);
  if (any_duplicates != 0) atomicOr(&args.measures->duplicates, 1U);
}

}  // namespace vostok
