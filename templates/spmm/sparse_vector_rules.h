// What a sparse_vector kernel needs of its traits and config. Host rules name the reason before anything is compiled.
#pragma once

#include "abi/sparse_vector.h"
#include "parts/power_of_two.h"

namespace vostok {

template <class F>
struct SparseVectorRules {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static_assert(config.gap_bits == 4 || config.gap_bits == 8, "sparse_vector: gaps have 4 or 8 bits");
  static_assert(config.columns == 1 || config.columns == 2 || config.columns == 4, "sparse_vector: 1, 2 or 4 columns");
  static_assert(config.wide_dense || traits.element != Dtype::f32, "sparse_vector: f32 is wide");
  static_assert(is_power_of_two(config.threads) && config.threads >= 32 && config.threads <= 1024, "sparse_vector: whole warps, a power of two");
  static_assert(is_power_of_two(config.lanes_per_row) && config.lanes_per_row >= 4 && config.lanes_per_row <= config.threads,
                "sparse_vector: lanes_per_row is a power of two from 4 to the block's threads");
  static_assert(config.tile_rows >= 1 && config.dense_rows >= 1 && config.dense_rows % 8 == 0, "sparse_vector: tile_rows, and eights of dense_rows");
};

}  // namespace vostok
