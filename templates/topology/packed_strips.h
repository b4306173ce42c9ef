// The structure of packed strips (abi/packed_strips.h) from CSR: masks, then starts and sizes, then where every value comes from.
// Masks are joined by atomics, whose order does not matter; every source has a place of its own. No step depends on what runs first.
#pragma once

#include "abi/fixed.h"
#include "abi/packed_steps.h"
#include "topology/block_sum.h"
#include "topology/integer.h"

namespace vostok {

/// Where a nonzero goes.
struct PackedSlot {
  long long strip;
  PackedPlace place;

  __device__ long long header() const { return strip * packed_lanes + place.lane; }
};

template <class F>
__device__ inline PackedSlot packed_slot(const PackedStepArgs& args, long long nonzero) {
  const long long row = row_of<IntegerType::i32>(args.row_offsets, args.rows, nonzero);
  const long long column = read_integer<integer_type(F::traits.index)>(args.column_indices, nonzero);
  return {column / packed_strip_columns * args.row_strips + row / packed_strip_rows,
          packed_place(static_cast<int>(row % packed_strip_rows), static_cast<int>(column % packed_strip_columns))};
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) mark_pairs(const __grid_constant__ PackedStepArgs args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const PackedSlot slot = packed_slot<F>(args, i);
    atomicOr(args.headers + slot.header(), 1U << slot.place.bit);
  }
}

/// A warp for each strip, a lane for each of its headers.
template <class F>
__global__ void __launch_bounds__(F::config.threads) count_pairs(const __grid_constant__ PackedStepArgs args) {
  const unsigned lane = threadIdx.x % packed_lanes;
  for (long long strip = thread_in_grid() / packed_lanes; strip < args.strips; strip += threads_in_grid() / packed_lanes) {
    const unsigned mask = args.headers[strip * packed_lanes + lane];
    const auto own = static_cast<unsigned>(__popc(mask));
    const unsigned through = warp_inclusive_sum(own);
    args.headers[strip * packed_lanes + lane] = packed_header(mask, through - own);
    if (lane != packed_lanes - 1) continue;
    args.pair_counts[strip] = through;
    args.unit_counts[0][strip] = packed_strip_units(through, 1);
    args.unit_counts[1][strip] = packed_strip_units(through, 2);
  }
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) place_sources(const __grid_constant__ PackedStepArgs args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const PackedSlot slot = packed_slot<F>(args, i);
    const unsigned header = args.headers[slot.header()];
    const int before = __popc(packed_mask(header) & ((1U << slot.place.bit) - 1));
    const long long pair = static_cast<long long>(args.pair_offsets[slot.strip]) + packed_start(header) + before;
    int source = static_cast<int>(i);
    if constexpr (F::traits.gathered) source = args.value_positions[i];
    args.sources[2 * pair + slot.place.half] = source;
  }
}

}  // namespace vostok
