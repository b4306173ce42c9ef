// sparse_vector, an SpMM for products with up to four columns from packed runs: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_runs.h"
#include "abi/rules.h"

namespace vostok {

/// What the problem fixes.
struct SparseVectorTraits {
  Dtype element = Dtype::f16;
  Dtype output = Dtype::f16;
  bool batched = false;
  bool flat_dense = false;  ///< B's elements follow one another row by row: 1, 2 or 4 columns without gaps
  Layout dense_layout = Layout::row_major;
  Layout output_layout = Layout::row_major;
  int dense_alignment = 16;  ///< bytes that divide every line start of B, and the length of lines; flat, B is one line
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool residual = false;
  bool accumulate = false;
  Dtype bias_element = Dtype::f32;  ///< of the bias
};

/// The tunables.
struct SparseVectorConfig {
  int gap_bits = 4;         ///< of the packed runs
  int columns = 1;          ///< of B and C: 1, 2 or 4, at least n
  int dense_rows = 1024;    ///< of B for which a block's shared memory has room, at least k
  bool wide_dense = true;   ///< 16-bit elements of B become f32 when they are staged, not at every use
  int threads = 512;        ///< of a block
  int lanes_per_row = 32;   ///< that share a row's runs: a power of two, at least 4; past 32 several warps
  int tile_rows = 32;       ///< rows of a block
  int min_blocks = 2;       ///< blocks per multiprocessor that registers must allow
  bool load_ahead = false;  ///< a lane's next run is loaded before this one is multiplied, not after

  friend constexpr bool operator==(const SparseVectorConfig&, const SparseVectorConfig&) = default;
};

struct SparseVectorArgs {
  PackedRuns runs;
  const unsigned char* values;  ///< packed
  const void* dense;            ///< B
  void* output;                 ///< C
  const void* residual;         ///< lies as C does
  const void* bias;
  const float* device_scale;
  long long m;
  long long n;
  long long k;
  long long dense_leading;   ///< elements between lines of B
  long long output_leading;  ///< the same of C
  long long value_stride;    ///< bytes between two sets of packed values; 0 where the batch shares one
  long long dense_stride;    ///< elements between two of the batch
  long long output_stride;
  unsigned batch;
  float scale;
  bool packs;  ///< the launch before packs the values; else they have been packed long since
};

template <FieldsOf<SparseVectorTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("batched", traits.batched);
  visit("flat_dense", traits.flat_dense);
  visit("dense_layout", traits.dense_layout);
  visit("output_layout", traits.output_layout);
  visit("dense_alignment", traits.dense_alignment);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("scale", traits.scale);
  visit("residual", traits.residual);
  visit("accumulate", traits.accumulate);
  visit("bias_element", traits.bias_element);
}

template <FieldsOf<SparseVectorConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("gap_bits", config.gap_bits);
  visit("columns", config.columns);
  visit("dense_rows", config.dense_rows);
  visit("wide_dense", config.wide_dense);
  visit("threads", config.threads);
  visit("lanes_per_row", config.lanes_per_row);
  visit("tile_rows", config.tile_rows);
  visit("min_blocks", config.min_blocks);
  visit("load_ahead", config.load_ahead);
}

/// How B's elements are kept in shared memory.
constexpr Dtype staged_type(const SparseVectorTraits& traits, const SparseVectorConfig& config) {
  return config.wide_dense ? Dtype::f32 : traits.element;
}

/// Bytes of a row of B there.
constexpr int slot_bytes(const SparseVectorTraits& traits, const SparseVectorConfig& config) {
  return config.columns * size_of(staged_type(traits, config));
}

/// Warps that share a row, and rows that a block has under way together.
constexpr int row_warps(const SparseVectorConfig& config) {
  return config.lanes_per_row > 32 ? config.lanes_per_row / 32 : 1;
}
constexpr int rows_together(const SparseVectorConfig& config) { return config.threads / config.lanes_per_row; }

/// Sums of the warps that share rows, twice: one row's are read while the next one's are written.
constexpr int warp_sum_bytes(const SparseVectorConfig& config) {
  return row_warps(config) > 1 ? 2 * config.threads / 32 * config.columns * 4 : 0;
}

constexpr int shared_bytes(const SparseVectorTraits& traits, const SparseVectorConfig& config) {
  return config.dense_rows * slot_bytes(traits, config) + warp_sum_bytes(config);
}

constexpr void kernel_rules(RuleCheck& rule, const SparseVectorTraits& t, const SparseVectorConfig& c) {
  rule("gaps have 4 or 8 bits", [&] { return c.gap_bits == 4 || c.gap_bits == 8; });
  rule("columns is 1, 2 or 4", [&] { return is_power_of_two(c.columns, 1, 4); });
  rule("a block has a power of two of 32 to 1024 threads", [&] { return is_power_of_two(c.threads, 32, 1024); });
  rule("lanes_per_row is a power of two from 4 to the block's threads",
       [&] { return is_power_of_two(c.lanes_per_row, 4, c.threads); });
  rule("f32 is wide", [&] { return c.wide_dense || t.element != Dtype::f32; });
  rule("dense_rows is a multiple of 8, of at most 131072",
       [&] { return within(c.dense_rows, 1, 1 << 17) && c.dense_rows % 8 == 0; });
  rule("tile_rows is a multiple of the rows that a block has under way",
       [&] { return within(c.tile_rows, 1, 1 << 24) && c.tile_rows % rows_together(c) == 0; });
  rule("min_blocks is 1 to 32", [&] { return within(c.min_blocks, 1, 32); });
}

}  // namespace vostok
