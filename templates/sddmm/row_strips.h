// SDDMM of "Sparse GPU Kernels for Deep Learning" (Gale, Zaharia, Young, Elsen, SC20), section VI:
// D = scale * (A B^T) o I[mask] (o C) (+ D), only the mask's elements.
//
// The unit of work is a strip: at most strip_entries nonzeros of one row (the paper's 1-D tiles of nonzeros). It
// belongs to threads_per_strip lanes that lie side by side along n: a step's part of A's row is loaded once and
// multiplied by every row of B that the strip names. Blocks are launched by strips, so that work follows the nonzeros.
// The strips of a block walk along n together and meet in L1 where they name the same rows of B. Every sum is in f32.
//
// Where nonzeros are few and n is long, n is cut into parts, which different blocks sum: then the output holds parts of
// sums, and sum_parts.h makes D of them.
//
// An element of D is made from one row of A and one of B and from nothing else: entries never share a sum, and lanes
// past n read nothing.
#pragma once

#include "abi/fixed.h"
#include "abi/row_strips.h"
#include "parts/dependent_launch.h"
#include "sddmm/sampled_output.h"
#include "sddmm/strip_sum.h"

namespace vostok {

/// The strip of one of a block's slots. With column bands, neighbouring slots lie a usual row's strips apart: their
/// strips are of neighbouring rows and, as far as rows are alike, of the same columns, so that they load the same rows
/// of B. For other masks it is some order, which holds every strip once.
template <class F>
__device__ inline long long strip_index(const RowStripsArgs& args, unsigned slot) {
  constexpr long long slots = F::config.strips_per_block;
  if constexpr (!F::config.column_bands) return blockIdx.x * slots + slot;
  return (blockIdx.x / args.bands * slots + slot) * args.bands + blockIdx.x % args.bands;
}

/// A strip past the last one is empty: its lanes take part in synchronisation and do nothing else.
__device__ inline Strip load_strip(const RowStripsArgs& args, long long index) {
  if (index >= args.strip_count) return {};
  return load_global(args.strips + index);
}

/// What a block works at: a matrix of the batch and a part of n.
struct PartOfMatrix {
  unsigned line;  ///< of the output: the parts of a matrix are neighbours
  unsigned matrix;
  long long start;
  long long length;

  template <class F>
  static __device__ PartOfMatrix of_block(const RowStripsArgs& args) {
    const unsigned line = blockIdx.z * gridDim.y + blockIdx.y;
    const long long start = line % F::config.n_split * args.part_length;
    const long long left = args.n - start;
    return {line, line / F::config.n_split, start, left < args.part_length ? left : args.part_length};
  }
};

template <class F>
__device__ inline StripTotals<F> multiply_strip(const RowStripsArgs& args, const Strip& strip, const PartOfMatrix& part,
                                                unsigned strip_in_block, unsigned lane) {
  constexpr auto config = F::config;
  constexpr long long element_bytes = size_of(F::traits.element);
  constexpr long long step = step_length(config);
  constexpr long long block_length = 256 * config.threads_per_strip;
  const StripColumns<F> columns(args, strip, strip_in_block, lane);
  const typename StripSum<F>::Work work = {columns, strip.end - strip.begin};
  const long long lane_start = static_cast<long long>(lane) * config.dense_vector;
  const long long first = part.start + lane_start;
  const char* lhs = static_cast<const char*>(args.lhs) +
                    (part.matrix * args.lhs_stride + strip.row * args.lhs_leading + first) * element_bytes;
  const char* rhs = static_cast<const char*>(args.rhs) + (part.matrix * args.rhs_stride + first) * element_bytes;

  StripTotals<F> totals;
  long long left = part.length;
  while (left > 0) {
    StripSum<F> sum;
    const long long after_block = F::traits.blocked_sum && left > block_length ? left - block_length : 0;
#pragma unroll 1
    for (; left - after_block >= step; left -= step, lhs += step * element_bytes, rhs += step * element_bytes)
      sum.template add_step<true>(work, lhs, rhs, left);
    if (left > after_block) {
      sum.template add_step<false>(work, lhs, rhs, left - lane_start);
      left = 0;
    }
    sum.reduce_into(totals, lane);
  }
  return totals;
}

template <class F>
__device__ inline void store_strip(const RowStripsArgs& args, const Strip& strip, const PartOfMatrix& part,
                                   unsigned lane, const StripTotals<F>& totals) {
  const SampledOutput<F, F::config.stream_output> output(args, part.matrix, part.line);
#pragma unroll
  for (int slot = 0; slot < StripTotals<F>::slots; ++slot) {
    const long long at = static_cast<long long>(strip.begin) + StripTotals<F>::entry(slot, lane);
    if (at < strip.end && StripTotals<F>::owns(lane)) output.store(at, totals.at[slot]);
  }
}

/// Strips lie on the grid's x, matrices of the batch and their parts on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    row_strips(const __grid_constant__ RowStripsArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  const auto part = PartOfMatrix::of_block<F>(args);
  if (part.matrix >= args.batch) return;
  const unsigned strip_in_block = threadIdx.x / config.threads_per_strip;
  const unsigned lane = threadIdx.x % config.threads_per_strip;
  const Strip strip = load_strip(args, strip_index<F>(args, strip_in_block));
  wait_for_previous_launch();
  const StripTotals<F> totals = multiply_strip<F>(args, strip, part, strip_in_block, lane);
  allow_next_launch();
  store_strip<F>(args, strip, part, lane, totals);
}

}  // namespace vostok
