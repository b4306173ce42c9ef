// The structure of packed strips (abi/packed_strips.h) from CSR: what rows name in each strip, then headers and sizes,
// then where the rows' nonzeros start, then every nonzero's slot, and what is left over. Masks are joined by atomics,
// whose order does not matter. No step depends on what runs first. All steps are one program: what is compiled and
// loaded by itself costs a first plan more than its own code.
#pragma once

#include "abi/fixed.h"
#include "abi/packed_fours.h"
#include "abi/packed_steps.h"
#include "topology/block_sum.h"
#include "topology/integer.h"

namespace vostok {

/// A nonzero's row among those of all strips, and its column in the strip.
struct StripPlace {
  long long row;
  int column;
};

template <class F>
consteval bool takes_fours() {
  return F::traits.grain == PackedGrain::four;
}
template <class F>
consteval bool takes_whole() {
  return F::traits.grain == PackedGrain::whole;
}
template <class F>
consteval int lane_words() {
  return packed_lane_words(F::traits.grain);
}

template <class F>
__device__ inline StripPlace strip_place(const PackedStepArgs& args, long long nonzero) {
  const long long row = row_of<IntegerType::i32>(args.row_offsets, args.rows, nonzero);
  const long long column = read_integer<integer_type(F::traits.index)>(args.column_indices, nonzero);
  const long long strip = column / packed_strip_columns() * args.row_strips + row / packed_strip_rows();
  return {strip * packed_strip_rows() + row % packed_strip_rows(), static_cast<int>(column % packed_strip_columns())};
}

/// How many of the columns before this one a row names.
__device__ inline int named_before(unsigned long long row_mask, int column) {
  return __popcll(row_mask & ((1ULL << column) - 1));
}

template <class F>
__device__ inline void mark_columns(const PackedStepArgs& args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const StripPlace place = strip_place<F>(args, i);
    atomicOr(args.row_masks + place.row, 1ULL << place.column);
  }
}

/// The mask of a lane's header, from those of its two rows.
__device__ inline unsigned lane_mask(int lane, unsigned long long row, unsigned long long row_below) {
  unsigned mask = 0;
  for (int bit = 0; bit < 16; bit += 2) {
    const int column = packed_column(lane, bit);
    mask |= ((row >> column & 3) != 0 ? 1U : 0U) << bit | ((row_below >> column & 3) != 0 ? 2U : 0U) << bit;
  }
  return mask;
}

/// A warp for each strip, a lane for each of its headers.
template <class F>
__device__ inline void count_pairs(const PackedStepArgs& args) {
  const int lane = static_cast<int>(threadIdx.x % packed_lanes());
  for (long long strip = thread_in_grid() / packed_lanes(); strip < args.strips;
       strip += threads_in_grid() / packed_lanes()) {
    const unsigned long long* const masks = args.row_masks + strip * packed_strip_rows();
    const unsigned long long row = masks[packed_row(lane, 0)], row_below = masks[packed_row(lane, 1)];
    const unsigned mask = takes_fours<F>() ? four_mask(lane, row, row_below) : lane_mask(lane, row, row_below);
    const auto own = static_cast<unsigned>(__popc(mask));
    const unsigned through = warp_inclusive_sum(own);
    if constexpr (!takes_whole<F>()) {
      unsigned* const header = args.headers + (strip * packed_lanes() + lane) * lane_words<F>();
      header[0] = packed_header(mask, through - own);
      if constexpr (takes_fours<F>()) header[1] = four_metadata(lane, row, row_below);
    }
    const unsigned nonzeros =
        warp_inclusive_sum(lane < packed_strip_rows() ? static_cast<unsigned>(__popcll(masks[lane])) : 0U);
    if (lane != packed_lanes() - 1) continue;
    args.slot_counts[strip] = packed_strip_slots(nonzeros);
    args.unit_counts[0][strip] = packed_strip_units(F::traits.grain, through, 1);
    args.unit_counts[1][strip] = packed_strip_units(F::traits.grain, through, 2);
  }
}

/// A warp for each row, a lane for each of its strips.
template <class F>
__device__ inline void start_rows(const PackedStepArgs& args) {
  const long long lane = threadIdx.x % packed_lanes();
  const long long rows = args.row_strips * packed_strip_rows();
  for (long long row = thread_in_grid() / packed_lanes(); row < rows; row += threads_in_grid() / packed_lanes()) {
    int start = static_cast<int>(args.nonzeros);
    if (row < args.rows) start = args.row_offsets[row];
    unsigned left = 0;
    for (long long first = 0; first < args.k_blocks; first += packed_lanes()) {
      const long long place = (first + lane) * rows + row;
      const bool exists = first + lane < args.k_blocks;
      const unsigned long long names = exists ? args.row_masks[place] : 0;
      const int count = __popcll(names);
      if constexpr (takes_fours<F>()) left += static_cast<unsigned>(__popcll(fours_left(names)));
      const int through = warp_inclusive_sum(count);
      if (exists) args.row_starts[place] = start + through - count;
      start += __shfl_sync(0xffffffffU, through, packed_lanes() - 1);
    }
    if (lane == 0) args.row_starts[args.k_blocks * rows + row] = start;
    if constexpr (takes_fours<F>()) {
      left = warp_inclusive_sum(left);
      if (lane == packed_lanes() - 1) args.left_counts[row] = left;
    }
  }
}

/// The slot of a nonzero, in a row that names these columns; `header` is that of each lane.
template <class F>
__device__ inline unsigned slot_of(unsigned header, int row, int column, unsigned long long names) {
  if constexpr (takes_whole<F>()) {
    const unsigned number = packed_whole_number(row, column);
    return packed_slot(row, number / 2, static_cast<int>(number % 2));
  }
  PackedPlace place = packed_place(row, column);
  if constexpr (takes_fours<F>())
    place = {four_place(row, column).lane, four_place(row, column).bit, four_half(four_of(names, column), column)};
  const unsigned of_pair = __shfl_sync(0xffffffffU, header, place.lane);
  if (takes_fours<F>() && (fours_left(names) >> column & 1) != 0) return packed_left_slot(row);
  const unsigned pair =
      packed_start(of_pair) + static_cast<unsigned>(__popc(packed_mask(of_pair) & ((1U << place.bit) - 1)));
  return packed_slot(row, pair, place.half);
}

/// A warp for each strip, which goes through its rows; a lane for each column of half a row.
template <class F>
__device__ inline void place_nonzeros(const PackedStepArgs& args) {
  const int lane = static_cast<int>(threadIdx.x % packed_lanes());
  for (long long strip = thread_in_grid() / packed_lanes(); strip < args.strips;
       strip += threads_in_grid() / packed_lanes()) {
    unsigned header = 0;
    if constexpr (!takes_whole<F>()) header = args.headers[(strip * packed_lanes() + lane) * lane_words<F>()];
    const unsigned long long own = lane < packed_strip_rows() ? args.row_masks[strip * packed_strip_rows() + lane] : 0;
    const int through = warp_inclusive_sum(__popcll(own)), before = through - __popcll(own);
    const int nonzeros = __shfl_sync(0xffffffffU, through, packed_lanes() - 1);
    if (nonzeros == 0) continue;
    if (lane == 0 && nonzeros % 2 == 1) args.slots[args.slot_offsets[strip] + nonzeros] = 0;
    for (int row = 0; row < packed_strip_rows(); ++row) {
      const unsigned long long names = __shfl_sync(0xffffffffU, own, row);
      unsigned short* const slots = args.slots + args.slot_offsets[strip] + __shfl_sync(0xffffffffU, before, row);
      for (int column = lane; column < packed_strip_columns(); column += packed_lanes()) {
        const unsigned slot = slot_of<F>(header, row, column, names);
        if ((names >> column & 1) != 0) slots[named_before(names, column)] = static_cast<unsigned short>(slot);
      }
    }
  }
}

/// Where columns do not ascend in every row, or values lie elsewhere.
template <class F>
__device__ inline void place_values(const PackedStepArgs& args) {
  for (long long i = thread_in_grid(); i < args.nonzeros; i += threads_in_grid()) {
    const StripPlace place = strip_place<F>(args, i);
    const int source = args.value_positions != nullptr ? args.value_positions[i] : static_cast<int>(i);
    args.value_places[args.row_starts[place.row] + named_before(args.row_masks[place.row], place.column)] = source;
  }
}

/// A warp for each row, a lane for each of its strips.
__device__ inline void place_left(const PackedStepArgs& args) {
  const long long lane = threadIdx.x % packed_lanes();
  const long long rows = args.row_strips * packed_strip_rows();
  for (long long row = thread_in_grid() / packed_lanes(); row < args.rows; row += threads_in_grid() / packed_lanes()) {
    unsigned start = args.left_starts[row];
    for (long long first = 0; first < args.k_blocks; first += packed_lanes()) {
      const long long place = (first + lane) * rows + row;
      const unsigned long long names = first + lane < args.k_blocks ? args.row_masks[place] : 0;
      unsigned long long left = fours_left(names);
      const auto own = static_cast<unsigned>(__popcll(left));
      const unsigned through = warp_inclusive_sum(own);
      for (unsigned at = start + through - own; left != 0; left &= left - 1, ++at) {
        const int column = __ffsll(static_cast<long long>(left)) - 1;
        const int number = args.row_starts[place] + named_before(names, column);
        args.left_places[at] =
            packed_left_place(static_cast<int>(row % packed_strip_rows()),
                              static_cast<unsigned>((first + lane) * packed_strip_columns() + column));
        args.left_sources[at] = args.value_places != nullptr ? args.value_places[number] : number;
      }
      start += __shfl_sync(0xffffffffU, through, packed_lanes() - 1);
    }
  }
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) make_packed_strips(const __grid_constant__ PackedStepArgs args) {
  switch (args.step) {
    case PackedStep::mark_columns: return mark_columns<F>(args);
    case PackedStep::count_pairs: return count_pairs<F>(args);
    case PackedStep::start_rows: return start_rows<F>(args);
    case PackedStep::place_nonzeros: return place_nonzeros<F>(args);
    case PackedStep::place_values: return place_values<F>(args);
    case PackedStep::place_left: return place_left(args);
  }
}

}  // namespace vostok
