// The structure of sparse strips (abi/sparse_strips.h) from CSR: where nonzeros are, then passes and sizes, then where
// every value comes from. Bits are joined by atomics, whose order does not matter; every source has a place of its own.
// No step depends on what runs first. All steps are one program (topology/packed_strips.h).
#pragma once

#include "abi/fixed.h"
#include "abi/sparse_steps.h"
#include "topology/block_sum.h"
#include "topology/integer.h"

namespace vostok {

/// Where a nonzero goes.
struct SparseSlot {
  long long strip;
  SparsePlace place;
};

template <class F>
__device__ inline SparseSlot sparse_slot(const SparseStepArgs& args, long long nonzero) {
  const long long row = row_of<IntegerType::i32>(args.row_offsets, args.rows, nonzero);
  const long long column = read_integer<integer_type(F::traits.index)>(args.column_indices, nonzero);
  return {column / packed_strip_columns() * args.row_strips + row / packed_strip_rows(),
          sparse_place(static_cast<int>(row % packed_strip_rows()), static_cast<int>(column % packed_strip_columns()))};
}

template <class F>
__device__ inline void mark_groups(const SparseStepArgs& args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const SparseSlot slot = sparse_slot<F>(args, i);
    atomicOr(args.groups + slot.strip * packed_lanes() + slot.place.lane, 1U << slot.place.bit);
  }
}

/// Passes that a warp's words need of a step.
__device__ inline unsigned passes_of_step(unsigned word, int step) {
  unsigned most = 0;
  for (int r = 0; r < sparse_registers(); ++r) most = max(most, sparse_passes(sparse_group(word, step, r)));
  return (__any_sync(0xffffffffU, most > 0) != 0 ? 1U : 0U) + (__any_sync(0xffffffffU, most > 1) != 0 ? 1U : 0U);
}

/// A warp for the four strips of 64 rows.
__device__ inline void count_passes(const SparseStepArgs& args) {
  const unsigned lane = threadIdx.x % packed_lanes();
  const long long tiles = args.strips / sparse_tile_strips();
  for (long long tile = thread_in_grid() / packed_lanes(); tile < tiles; tile += threads_in_grid() / packed_lanes()) {
    unsigned own[sparse_tile_strips()];
    unsigned most[sparse_steps()] = {};
    for (int q = 0; q < sparse_tile_strips(); ++q) {
      const long long strip = tile * sparse_tile_strips() + q;
      const unsigned word = args.groups[strip * packed_lanes() + lane];
      const unsigned nonzeros = warp_inclusive_sum(static_cast<unsigned>(__popc(word)));
      const unsigned first = passes_of_step(word, 0);
      const unsigned second = passes_of_step(word, 1);
      own[q] = sparse_pass_pair(first, second);
      most[0] = max(most[0], first);
      most[1] = max(most[1], second);
      if (lane != packed_lanes() - 1) continue;
      args.nonzero_counts[strip] = nonzeros;
      args.unit_counts[strip] = sparse_strip_units(first + second);
    }
    for (int q = 0; q < sparse_tile_strips(); ++q)
      if (lane == q)
        args.headers[tile * sparse_tile_strips() + q] = sparse_header(own[q], sparse_pass_pair(most[0], most[1])).word;
  }
}

template <class F>
__device__ inline void place_values(const SparseStepArgs& args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const SparseSlot slot = sparse_slot<F>(args, i);
    const unsigned* const words = args.groups + slot.strip * packed_lanes();
    unsigned before = static_cast<unsigned>(__popc(words[slot.place.lane] & ((1U << slot.place.bit) - 1)));
    for (int lane = 0; lane < slot.place.lane; ++lane) before += static_cast<unsigned>(__popc(words[lane]));
    args.sources[static_cast<long long>(args.nonzero_offsets[slot.strip]) + before] =
        args.value_positions != nullptr ? args.value_positions[i] : static_cast<int>(i);
  }
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) make_sparse_strips(const __grid_constant__ SparseStepArgs args) {
  switch (args.step) {
    case SparseStep::mark_groups: return mark_groups<F>(args);
    case SparseStep::count_passes: return count_passes(args);
    case SparseStep::place_values: return place_values<F>(args);
  }
}

}  // namespace vostok
