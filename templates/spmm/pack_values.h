// packed[b, p] = values[b, positions[p]]: the values of a transposed A, brought into its own order before a product
// reads them.
#pragma once

#include "abi/fixed.h"
#include "abi/pack_values.h"
#include "parts/dependent_launch.h"
#include "parts/loads.h"

namespace vostok {

/// A thread moves one value; values lie on the grid's x, sets of values on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads) pack_values(const __grid_constant__ PackValuesArgs args) {
  static_assert(F::traits.element_bytes == 2 || F::traits.element_bytes == 4, "values have 2 or 4 bytes");
  using Bits = typename detail::BitsOf<F::traits.element_bytes>::Type;
  const long long set = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
  const long long place = static_cast<long long>(blockIdx.x) * F::config.threads + threadIdx.x;
  if (set >= args.batch || place >= args.nonzeros) return;
  follow_previous_launch();
  const auto* values = static_cast<const Bits*>(args.values) + set * args.value_stride;
  auto* packed = static_cast<Bits*>(args.packed) + set * args.packed_stride;
  packed[place] = load_global(values + load_global(args.positions + place));
}

}  // namespace vostok
