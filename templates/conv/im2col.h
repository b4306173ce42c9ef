// Image patches as the columns of a matrix: row (channel, filter row, filter column), column (output row, output
// column).
#pragma once

#include "abi/fixed.h"
#include "abi/im2col.h"
#include "conv/flat_index.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/unsigned.h"

namespace vostok {

/// Gathers and stores the vector at `element` of the output, which lies in one row.
template <class F>
__device__ inline void store_patch_vector(const Im2colArgs& args, unsigned long long element) {
  using Index = typename UnsignedOf<F::traits.wide_indices>::Type;
  using Stored = typename Element<F::traits.element>::Storage;
  constexpr auto traits = F::traits;
  const Split<Index> place(static_cast<Index>(element), static_cast<Index>(args.pixels));
  const Split<Index> filter(place.quotient, traits.kernel_height * traits.kernel_width);
  const Split<Index> pixel(place.remainder, static_cast<Index>(args.output_width));
  const long long down = static_cast<long long>(filter.remainder / traits.kernel_width) - args.top;
  const long long right = static_cast<long long>(filter.remainder % traits.kernel_width) - args.left;
  const Stored* const plane = static_cast<const Stored*>(args.input) + filter.quotient * args.height * args.width;

  Vector<Stored, F::config.vector> packet{};
  long long row = pixel.quotient;
  long long column = pixel.remainder;
#pragma unroll
  for (int i = 0; i < F::config.vector; ++i) {
    const long long y = row * traits.stride + down;
    const long long x = column * traits.stride + right;
    if (y >= 0 && y < args.height && x >= 0 && x < args.width) packet.at[i] = load_global(plane + y * args.width + x);
    if (++column == args.output_width) {
      column = 0;
      ++row;
    }
  }
  store_global<false>(reinterpret_cast<decltype(packet)*>(static_cast<Stored*>(args.output) + element), packet);
}

template <class F>
__global__ void __launch_bounds__(F::config.block_threads) im2col_gather(const __grid_constant__ Im2colArgs args) {
  static_assert(keeps_rules<F>());
  follow_previous_launch();
  constexpr auto config = F::config;
  constexpr unsigned long long block_vectors =
      static_cast<unsigned long long>(config.block_threads) * config.vectors_per_thread;
#pragma unroll
  for (int v = 0; v < config.vectors_per_thread; ++v) {
    const unsigned long long element =
        (blockIdx.x * block_vectors + v * config.block_threads + threadIdx.x) * config.vector;
    if (element < static_cast<unsigned long long>(args.elements)) store_patch_vector<F>(args, element);
  }
}

}  // namespace vostok
