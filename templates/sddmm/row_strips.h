// SDDMM of "Sparse GPU Kernels for Deep Learning" (Gale, Zaharia, Young, Elsen, SC20), section VI:
// D = scale * (A B^T) o I[mask] (o C) (+ D), only the mask's elements.
//
// The unit of work is a strip: at most strip_entries nonzeros of one row (the paper's 1-D tiles of nonzeros). It belongs to
// threads_per_strip lanes that lie side by side along n: a step's part of A's row is loaded once and multiplied by every row
// of B that the strip names. Blocks are launched by strips, so that work follows the nonzeros. The strips of a
// block walk along n together and meet in L1 where they name the same rows of B. Every sum is in f32.
//
// An element of D is made from one row of A and one of B and from nothing else: entries never share a sum, and lanes past n
// read nothing.
#pragma once

#include "abi/fixed.h"
#include "abi/row_strips.h"
#include "sddmm/row_strips_rules.h"
#include "sddmm/strip_sum.h"

namespace vostok {

/// A strip past the last one is empty: its lanes take part in synchronisation and do nothing else.
__device__ inline Strip load_strip(const RowStripsArgs& args, long long index) {
  if (index >= args.strip_count) return {};
  return load_global(args.strips + index);
}

template <class F>
__device__ inline StripTotals<F> multiply_strip(const RowStripsArgs& args, const Strip& strip, long long matrix, unsigned strip_in_block,
                                                unsigned lane) {
  constexpr auto config = F::config;
  constexpr long long element_bytes = size_of(F::traits.element);
  constexpr long long step = step_length(config);
  constexpr long long block_length = 256 * config.threads_per_strip;
  const StripColumns<F> columns(args, strip, strip_in_block, lane);
  const typename StripSum<F>::Work work = {columns, strip.end - strip.begin};
  const long long lane_start = static_cast<long long>(lane) * config.dense_vector;
  const long long lhs_start = matrix * args.lhs_stride + strip.row * args.lhs_leading + lane_start;
  const char* lhs = static_cast<const char*>(args.lhs) + lhs_start * element_bytes;
  const char* rhs = static_cast<const char*>(args.rhs) + (matrix * args.rhs_stride + lane_start) * element_bytes;

  StripTotals<F> totals;
  long long left = args.n;
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
__device__ inline void store_strip(const RowStripsArgs& args, const Strip& strip, long long matrix, unsigned lane, const StripTotals<F>& totals) {
  using Input = Element<F::traits.element>;
  using Output = Element<F::traits.output>;
  auto* const output = static_cast<typename Output::Storage*>(args.output) + matrix * args.output_stride;
  const auto* const multiplier = static_cast<const typename Input::Storage*>(args.multiplier) + matrix * args.multiplier_stride;
  float factor = 1.0F;
  if constexpr (F::traits.scale == Scale::host) factor = args.scale;
  if constexpr (F::traits.scale == Scale::device) factor = load_global(args.device_scale);
#pragma unroll
  for (int slot = 0; slot < StripTotals<F>::slots; ++slot) {
    const long long at = static_cast<long long>(strip.begin) + StripTotals<F>::entry(slot, lane);
    if (at >= strip.end || !StripTotals<F>::owns(lane)) continue;
    float value = totals.at[slot];
    if constexpr (F::traits.scale != Scale::one) value *= factor;
    // Plain loads: the output may be the multiplier.
    if constexpr (F::traits.multiply) value *= Input::to_float(multiplier[at]);
    if constexpr (F::traits.accumulate) value += Output::to_float(output[at]);
    store_global<F::config.stream_output>(output + at, Output::from_float(value));
  }
}

/// Strips lie on the grid's x, matrices of the batch on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks) row_strips(const __grid_constant__ RowStripsArgs args) {
  constexpr auto config = F::config;
  [[maybe_unused]] constexpr RowStripsRules<F> rules;
  const long long matrix = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
  if (matrix >= args.batch) return;
  const unsigned strip_in_block = threadIdx.x / config.threads_per_strip;
  const unsigned lane = threadIdx.x % config.threads_per_strip;
  const Strip strip = load_strip(args, static_cast<long long>(blockIdx.x) * config.strips_per_block + strip_in_block);
  const StripTotals<F> totals = multiply_strip<F>(args, strip, matrix, strip_in_block, lane);
  store_strip<F>(args, strip, matrix, lane, totals);
}

}  // namespace vostok
