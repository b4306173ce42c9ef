// Adds the slices of a product whose k was cut, in their order, and stores C: deterministic, however blocks ran.
#pragma once

#include "abi/fixed.h"
#include "abi/unpack_sum.h"
#include "parts/dependent_launch.h"
#include "spmm/unpack_output.h"

namespace vostok {

/// The fragment of 16 rows and eight columns, as one store or load of each lane.
__device__ inline Vector<float, 4>* partial_fragment(const PartialSums& partial, unsigned product, long long slice,
                                                     long long strip, long long octet, unsigned lane) {
  float* const first = partial.at + (product * partial.slices + slice) * partial.slice_stride();
  return reinterpret_cast<Vector<float, 4>*>(first + (strip * partial.octets + octet) * 128) + lane;
}

/// A warp has one fragment. Fragments lie on the grid's x, products on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(32 * F::config.warps, 32 / F::config.warps)
    unpack_sum(const __grid_constant__ UnpackSumArgs args) {
  follow_previous_launch();
  const unsigned product = blockIdx.z * gridDim.y + blockIdx.y;
  const unsigned lane = threadIdx.x % 32;
  const long long fragment = static_cast<long long>(blockIdx.x) * F::config.warps + threadIdx.x / 32;
  const long long octets = (args.n + 7) / 8;
  const long long strip = fragment / octets;
  const long long octet = fragment - strip * octets;
  if (product >= args.batch || strip * 16 >= args.m) return;
  expect_biases<F>(args, strip, 1, lane);
  const Vector<float, 4>* const first = partial_fragment(args.partial, product, 0, strip, octet, lane);
  const long long step = args.partial.slice_stride() / 4;
  float sums[4] = {};
  // Loaded together: one after the other, each slice would wait for the one before it.
  constexpr int together = 8;
#pragma unroll 1
  for (long long slice = 0; slice < args.partial.slices; slice += together) {
    Vector<float, 4> parts[together];
#pragma unroll
    for (int j = 0; j < together; ++j)
      // Written by the launch before: not to be read early, as what is only read may be.
      parts[j] = slice + j < args.partial.slices ? load_own(first + (slice + j) * step) : Vector<float, 4>{};
#pragma unroll
    for (int j = 0; j < together; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i] += parts[j].at[i];
  }
  FragmentOutput<F> output(args, product, lane);
  store_fragment<F>(output, strip * 16, octet * 8, sums);
}

}  // namespace vostok
