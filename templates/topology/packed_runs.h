// The structure of packed runs (abi/packed_runs.h) from CSR: how many slots every nonzero takes, how many runs every
// row, then where every slot goes. Codes of a word are joined by atomics, whose order does not matter; all else has a
// place of its own. All steps are one program (topology/packed_strips.h).
#pragma once

#include "abi/fixed.h"
#include "abi/run_steps.h"
#include "topology/integer.h"

namespace vostok {

/// A nonzero, and the column before it in its row: -1 where it is the first.
struct RunNonzero {
  long long row;
  int column;
  int before;

  __device__ bool first() const { return before < 0; }
};

template <class F>
__device__ inline RunNonzero run_nonzero(const RunStepArgs& args, long long nonzero) {
  constexpr IntegerType type = integer_type(F::traits.index);
  const long long row = row_of<IntegerType::i32>(args.row_offsets, args.rows, nonzero);
  const bool first = nonzero == args.row_offsets[row];
  return {row, static_cast<int>(read_integer<type>(args.column_indices, nonzero)),
          first ? -1 : static_cast<int>(read_integer<type>(args.column_indices, nonzero - 1))};
}

template <class F>
__device__ inline void count_slots(const RunStepArgs& args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const RunNonzero nonzero = run_nonzero<F>(args, i);
    args.slots[i] =
        nonzero.first() ? 1U : static_cast<unsigned>(slots_of_gap(nonzero.column - nonzero.before, args.gap_bits));
  }
}

__device__ inline void count_row_runs(const RunStepArgs& args) {
  for (long long row = thread_in_grid(); row < args.rows; row += threads_in_grid()) {
    const unsigned slots = args.slots_before[args.row_offsets[row + 1]] - args.slots_before[args.row_offsets[row]];
    args.run_counts[row] = (slots + run_slots() - 1) / run_slots();
  }
}

/// Places a slot, of a nonzero or of an escape before it, whose code counts from `from`; in a run's first slot that is
/// where the run starts.
__device__ inline void place_slot(const RunStepArgs& args, long long nonzero, long long run, int slot, int from,
                                  int code) {
  if (slot == 0) {
    args.starts[run] = static_cast<unsigned short>(from);
    args.firsts[run] = static_cast<int>(nonzero);
  }
  if (slot == run_slots() - 1) args.counts[run] = run_slots();
  const RunCodePlace place = run_code_place(run, slot, args.gap_bits);
  if (code != 0) atomicOr(args.codes + place.word, static_cast<unsigned>(code) << place.shift);
}

template <class F>
__device__ inline void place_slots(const RunStepArgs& args) {
  const int escape = run_escape(args.gap_bits);
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const RunNonzero nonzero = run_nonzero<F>(args, i);
    const long long first_run = args.row_runs[nonzero.row];
    long long slot = args.slots_before[i] - args.slots_before[args.row_offsets[nonzero.row]];  // in the row
    int from = nonzero.first() ? nonzero.column : nonzero.before;
    for (; nonzero.column - from >= escape; ++slot, from += escape)
      place_slot(args, i, first_run + slot / run_slots(), static_cast<int>(slot % run_slots()), from, escape);

    const long long run = first_run + slot / run_slots();
    const int within = static_cast<int>(slot % run_slots());
    if (within == 0) from = nonzero.column;
    place_slot(args, i, run, within, from, nonzero.column - from);
    if (i + 1 == args.row_offsets[nonzero.row + 1]) args.counts[run] = static_cast<unsigned char>(within + 1);
  }
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) make_packed_runs(const __grid_constant__ RunStepArgs args) {
  switch (args.step) {
    case RunStep::count_slots: return count_slots<F>(args);
    case RunStep::count_row_runs: return count_row_runs(args);
    case RunStep::place_slots: return place_slots<F>(args);
  }
}

}  // namespace vostok
