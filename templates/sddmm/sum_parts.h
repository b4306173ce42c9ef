// Adds the parts of every sum of an SDDMM, in their order, and stores the result: deterministic, however blocks ran.
#pragma once

#include "abi/fixed.h"
#include "abi/sum_parts.h"
#include "parts/dependent_launch.h"
#include "sddmm/sampled_output.h"

namespace vostok {

/// Nonzeros lie on the grid's x, matrices of the batch on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads) sum_parts(const __grid_constant__ SumPartsArgs args) {
  const long long matrix = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
  const long long at = static_cast<long long>(blockIdx.x) * F::config.threads + threadIdx.x;
  if (matrix >= args.batch || at >= args.nonzeros) return;
  follow_previous_launch();
  const float* const partial = args.partial + matrix * args.parts * args.nonzeros + at;
  float sum = 0.0F;
#pragma unroll 8
  for (int part = 0; part < args.parts; ++part) sum += load_own(partial + part * args.nonzeros);  // not before the wait
  SampledOutput<F, false>(args, matrix, matrix).store(at, sum);
}

}  // namespace vostok
