// y = activation(x + bias), element by element, over a batch of dense matrices as they lie in memory.
#pragma once

#include "abi/bias_activation.h"
#include "abi/fixed.h"
#include "conv/flat_index.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/epilogue.h"
#include "parts/loads.h"
#include "parts/unsigned.h"

namespace vostok {

/// The bias of neighbouring elements, one after the other: vectors may cross rows.
template <class F>
class BiasWalk {
  using Index = typename UnsignedOf<F::traits.wide_indices>::Type;

 public:
  __device__ BiasWalk(const BiasActivationArgs& args, Index element) : args_(args) {
    if constexpr (F::traits.bias == Bias::none) return;
    const Split<Index> place(element, static_cast<Index>(args.columns));
    column_ = place.remainder;
    row_ = place.quotient % static_cast<Index>(args.rows);
    load();
  }

  __device__ float value() const { return value_; }

  /// On to the next element.
  __device__ void advance() {
    if constexpr (F::traits.bias == Bias::none) return;
    if (++column_ < static_cast<Index>(args_.columns)) {
      if constexpr (F::traits.bias == Bias::per_column) load();
      return;
    }
    column_ = 0;
    if (++row_ == static_cast<Index>(args_.rows)) row_ = 0;
    load();
  }

 private:
  __device__ void load() {
    value_ = load_bias<F::traits.bias_element>(args_.bias, F::traits.bias == Bias::per_row ? row_ : column_);
  }

  const BiasActivationArgs& args_;
  Index row_ = 0;
  Index column_ = 0;
  float value_ = 0.0F;
};

/// `count` elements from `element` on.
template <class F, int count>
__device__ inline void add_bias_and_activate(const BiasActivationArgs& args, unsigned long long element) {
  using Convert = Element<F::traits.element>;
  using Packet = Vector<typename Convert::Storage, count>;
  Packet packet =
      load_own(reinterpret_cast<const Packet*>(static_cast<const typename Convert::Storage*>(args.input) + element));
  BiasWalk<F> bias(args, element);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    packet.at[i] = Convert::from_float(activated<F::traits.activation>(Convert::to_float(packet.at[i]) + bias.value()));
    if (i + 1 < count) bias.advance();
  }
  store_global<false>(reinterpret_cast<Packet*>(static_cast<typename Convert::Storage*>(args.output) + element),
                      packet);
}

template <class F>
__global__ void __launch_bounds__(F::config.block_threads)
    bias_activation(const __grid_constant__ BiasActivationArgs args) {
  static_assert(keeps_rules<F>());
  follow_previous_launch();
  constexpr auto config = F::config;
  constexpr unsigned long long block_vectors =
      static_cast<unsigned long long>(config.block_threads) * config.vectors_per_thread;
  const auto elements = static_cast<unsigned long long>(args.elements);
#pragma unroll
  for (int v = 0; v < config.vectors_per_thread; ++v) {
    const unsigned long long first =
        (blockIdx.x * block_vectors + v * config.block_threads + threadIdx.x) * config.vector;
    if (first >= elements) return;
    if (elements - first >= config.vector) {
      add_bias_and_activate<F, config.vector>(args, first);
    } else {
#pragma unroll 1
      for (unsigned long long element = first; element < elements; ++element)
        add_bias_and_activate<F, 1>(args, element);
    }
  }
}

}  // namespace vostok
