// depthwise_direct, depthwise convolution from registers: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/stream.h"

namespace vostok {

/// What the problem fixes.
struct DepthwiseTraits {
  Dtype element = Dtype::f32;
  int kernel = 3;
  int stride = 1;
  int left_phase = 1;    ///< zeros left of the image, modulo 8: where a window's first column lies between vectors
  int widest_load = 1;   ///< elements that divide the width, and whose bytes divide the input's alignment
  int widest_store = 1;  ///< the same of the output
  bool bias = false;
  Activation activation = Activation::none;
  bool wide_tiles = false;          ///< there are 2^31 tiles and more
  Dtype bias_element = Dtype::f32;  ///< of the bias

  friend constexpr bool operator==(const DepthwiseTraits&, const DepthwiseTraits&) = default;
};

/// The tunables. Tiles of neighbouring threads go along a row of an image, then down, then on to the next channel, so
/// that a block takes as many channels as fill it.
struct DepthwiseConfig {
  int tile_width = 4;  ///< outputs of a thread along a row
  int tile_height = 2;
  int vector = 1;  ///< inputs per load
  int block_threads = 128;

  friend constexpr bool operator==(const DepthwiseConfig&, const DepthwiseConfig&) = default;
};

struct DepthwiseArgs {
  const void* input;    ///< [batch, channels, height, width]
  const void* filters;  ///< [channels, kernel, kernel]
  const void* bias;
  void* output;
  long long planes;  ///< batch * channels
  long long channels;
  long long height;
  long long width;
  long long output_height;
  long long output_width;
  long long top;
  long long left;
};

template <FieldsOf<DepthwiseTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("kernel", traits.kernel);
  visit("stride", traits.stride);
  visit("left_phase", traits.left_phase);
  visit("widest_load", traits.widest_load);
  visit("widest_store", traits.widest_store);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("wide_tiles", traits.wide_tiles);
  visit("bias_element", traits.bias_element);
}

template <FieldsOf<DepthwiseConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("tile_width", config.tile_width);
  visit("tile_height", config.tile_height);
  visit("vector", config.vector);
  visit("block_threads", config.block_threads);
}

/// Elements between the vector boundary where a thread's loads start and its first window.
constexpr int window_shift(const DepthwiseTraits& traits, const DepthwiseConfig& config) {
  return (config.vector - traits.left_phase % config.vector) % config.vector;
}

/// Vectors that cover a row of a thread's windows.
constexpr int row_vectors(const DepthwiseTraits& traits, const DepthwiseConfig& config) {
  const int columns = window_shift(traits, config) + (config.tile_width - 1) * traits.stride + traits.kernel;
  return (columns + config.vector - 1) / config.vector;
}

constexpr void kernel_rules(RuleCheck& rule, const DepthwiseTraits& t, const DepthwiseConfig& c) {
  rule("the filter has at least one element, and the stride is 1 or 2",
       [&] { return t.kernel >= 1 && within(t.stride, 1, 2); });
  rule("tile_width is a power of two of at most 16, and tile_height 1 to 16",
       [&] { return is_power_of_two(c.tile_width, 1, 16) && within(c.tile_height, 1, 16); });
  rule("vector is a power of two of at most 16 bytes", [&] { return is_vector(c.vector, t.element); });
  rule("vector is no wider than the input's width and alignment allow", [&] { return c.vector <= t.widest_load; });
  rule("vector divides the distance between tiles, tile_width * stride",
       [&] { return c.tile_width * t.stride % c.vector == 0; });
  rule("a block has 1 to 32 whole warps", [&] { return is_block(c.block_threads); });
}

}  // namespace vostok
