// Depthwise convolution: every channel of an image with a filter of its own, bias and activation fused, sums in f32.
//
// A thread computes a tile of outputs. It walks down the input rows under its tile, takes each into registers by vector
// loads that start at the boundary before its first window, and adds it to every output row whose windows cover it.
// Vectors lie wholly inside an image or wholly outside, where they are zeros.
#pragma once

#include "abi/depthwise.h"
#include "abi/fixed.h"
#include "conv/flat_index.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/epilogue.h"
#include "parts/loads.h"
#include "parts/unsigned.h"

namespace vostok {

/// Where a thread's tile lies.
struct DepthwiseTile {
  long long plane;
  long long channel;
  long long row;     ///< first output row
  long long column;  ///< first output column

  template <class F>
  static __device__ DepthwiseTile of(const DepthwiseArgs& args, unsigned long long number) {
    using Index = typename UnsignedOf<F::traits.wide_tiles>::Type;
    const auto columns = static_cast<Index>((args.output_width + F::config.tile_width - 1) / F::config.tile_width);
    const auto rows = static_cast<Index>((args.output_height + F::config.tile_height - 1) / F::config.tile_height);
    const Split<Index> line(static_cast<Index>(number), columns);
    const Split<Index> plane(line.quotient, rows);
    const auto channel = plane.quotient % static_cast<Index>(args.channels);
    return {static_cast<long long>(plane.quotient), static_cast<long long>(channel),
            static_cast<long long>(plane.remainder) * F::config.tile_height,
            static_cast<long long>(line.remainder) * F::config.tile_width};
  }
};

template <class F>
class DepthwiseSums {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr int kernel = traits.kernel;
  static constexpr int vectors = row_vectors(traits, config);
  static constexpr int shift = window_shift(traits, config);
  static constexpr int store_width = config.tile_width < traits.widest_store ? config.tile_width : traits.widest_store;
  using Convert = Element<traits.element>;
  using Stored = typename Convert::Storage;
  using Packet = Vector<Stored, config.vector>;
  using OutputPacket = Vector<Stored, store_width>;

 public:
  static constexpr int input_rows = (config.tile_height - 1) * traits.stride + kernel;

  __device__ DepthwiseSums(const DepthwiseArgs& args, const DepthwiseTile& tile) : args_(args), tile_(tile) {
    const Stored* const filter = static_cast<const Stored*>(args.filters) + tile.channel * (kernel * kernel);
#pragma unroll
    for (int i = 0; i < kernel * kernel; ++i)
      weights_[i / kernel][i % kernel] = Convert::to_float(load_global(filter + i));
  }

  /// Adds input row `number` of those under the tile.
  __device__ void add_row(int number) {
    float inputs[vectors * config.vector];
    load_row(tile_.row * traits.stride - args_.top + number, inputs);
#pragma unroll
    for (int row = 0; row < config.tile_height; ++row) {
      const int filter_row = number - row * traits.stride;
      if (filter_row < 0 || filter_row >= kernel) continue;
#pragma unroll
      for (int column = 0; column < config.tile_width; ++column)
#pragma unroll
        for (int i = 0; i < kernel; ++i)
          sums_[row][column] += weights_[filter_row][i] * inputs[shift + column * traits.stride + i];
    }
  }

  __device__ void store() const {
    float bias = 0.0F;
    if constexpr (traits.bias) bias = load_bias<traits.bias_element>(args_.bias, tile_.channel);
    Stored* const plane = static_cast<Stored*>(args_.output) + tile_.plane * args_.output_height * args_.output_width;
#pragma unroll
    for (int row = 0; row < config.tile_height; ++row) {
      if (tile_.row + row >= args_.output_height) break;
      Stored* const line = plane + (tile_.row + row) * args_.output_width + tile_.column;
#pragma unroll
      for (int first = 0; first < config.tile_width; first += store_width) {
        if (tile_.column + first >= args_.output_width) break;
        OutputPacket packet;
#pragma unroll
        for (int i = 0; i < store_width; ++i)
          packet.at[i] = Convert::from_float(activated<traits.activation>(sums_[row][first + i] + bias));
        store_global<false>(reinterpret_cast<OutputPacket*>(line + first), packet);
      }
    }
  }

 private:
  /// Row `row` of the image from the vector boundary before the first window on; zeros outside the image.
  __device__ void load_row(long long row, float (&inputs)[vectors * config.vector]) const {
    const bool inside = row >= 0 && row < args_.height;
    const long long first = tile_.column * traits.stride - args_.left - shift;
    const Stored* const line =
        static_cast<const Stored*>(args_.input) + (tile_.plane * args_.height + row) * args_.width;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const long long column = first + v * config.vector;
      Packet packet{};
      if (inside && column >= 0 && column < args_.width)
        packet = load_global(reinterpret_cast<const Packet*>(line + column));
#pragma unroll
      for (int i = 0; i < config.vector; ++i) inputs[v * config.vector + i] = Convert::to_float(packet.at[i]);
    }
  }

  const DepthwiseArgs& args_;
  const DepthwiseTile& tile_;
  float weights_[kernel][kernel];
  float sums_[config.tile_height][config.tile_width] = {};
};

/// Blocks that share a multiprocessor at least: 512 threads. Without a number the compiler saves registers until it
/// spills.
constexpr int least_resident_blocks(const DepthwiseConfig& config) {
  return config.block_threads < 512 ? 512 / config.block_threads : 1;
}

template <class F>
__global__ void __launch_bounds__(F::config.block_threads, least_resident_blocks(F::config))
    depthwise_direct(const __grid_constant__ DepthwiseArgs args) {
  static_assert(keeps_rules<F>());
  const auto tile =
      DepthwiseTile::of<F>(args, static_cast<unsigned long long>(blockIdx.x) * F::config.block_threads + threadIdx.x);
  if (tile.plane >= args.planes) return;
  follow_previous_launch();
  DepthwiseSums<F> sums(args, tile);
#pragma unroll
  for (int row = 0; row < DepthwiseSums<F>::input_rows; ++row) sums.add_row(row);
  sums.store();
}

}  // namespace vostok
