// y = activation(x + bias), a few elements a thread.
#pragma once

#include "abi/fixed.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/epilogue.h"
#include "parts/loads.h"
#include "toy/abi.h"

namespace vostok {

template <class F>
__global__ void __launch_bounds__(F::config.block_threads) toy(const __grid_constant__ ToyArgs args) {
  static_assert(keeps_rules<F>());
  follow_previous_launch();
  using Type = Element<F::traits.element>;
  using Stored = typename Type::Storage;
  const long long first =
      (blockIdx.x * static_cast<long long>(F::config.block_threads) + threadIdx.x) * F::config.elements_per_thread;
  for (long long i = first; i < first + F::config.elements_per_thread && i < args.elements; ++i) {
    float value = Type::to_float(load_own(static_cast<const Stored*>(args.input) + i));
    if constexpr (F::traits.bias != Bias::none)
      value += load_bias<Dtype::f32>(args.bias,
                                     F::traits.bias == Bias::per_row ? i / args.columns % args.rows : i % args.columns);
    store_global<false>(static_cast<Stored*>(args.output) + i,
                        Type::from_float(activated<F::traits.activation>(value)));
  }
}

}  // namespace vostok
