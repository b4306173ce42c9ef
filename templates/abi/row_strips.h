// row_strips, the SDDMM of "Sparse GPU Kernels for Deep Learning" (SC20), section VI: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/rules.h"
#include "abi/strip.h"

namespace vostok {

/// How every lane of a strip gets the strip's column indices.
enum class ColumnPath : unsigned char {
  shared,  ///< through shared memory, up to four with one load
  shuffle  ///< each lane holds its share; one shuffle for each
};

constexpr const char* name(ColumnPath value) {
  switch (value) {
    case ColumnPath::shared: return "shared";
    case ColumnPath::shuffle: return "shuffle";
  }
  return nullptr;
}

constexpr const char* type_name(ColumnPath) { return "ColumnPath"; }

/// What the problem fixes.
struct RowStripsTraits {
  Dtype element = Dtype::f32;
  Dtype output = Dtype::f32;
  IndexType index = IndexType::i32;
  bool wide_offsets = false;  ///< B has 2^31 bytes or more: offsets into it take 64 bits
  bool blocked_sum = false;   ///< a lane's sums of at most 256 products go into a second accumulator
  int dense_alignment = 16;   ///< bytes that divide every row start of A and B
  Scale scale = Scale::one;
  bool multiply = false;
  bool accumulate = false;
};

/// The tunables.
struct RowStripsConfig {
  int strip_entries = 32;     ///< most nonzeros of a strip: sums that a lane keeps in registers
  int threads_per_strip = 8;  ///< lanes side by side along n (the paper's subwarp)
  int strips_per_block = 16;
  int dense_vector = 4;  ///< elements per load of A and B
  int step_vectors =
      1;  ///< loads of A per lane and step along n: a step's part of A stays in registers for all of the strip
  int loads_in_flight = 8;       ///< rows of B whose loads are issued before the first of them is used
  bool overlap_batches = false;  ///< the loads of the next batch are issued before this one is multiplied
  ColumnPath column_path = ColumnPath::shared;
  bool column_bands =
      true;            ///< a block's strips are those of neighbouring rows that lie at the same place in their rows
  int n_split = 1;     ///< parts of n that different blocks sum; another kernel adds them in order
  int min_blocks = 4;  ///< blocks per multiprocessor that registers must allow
  bool stream_output = false;  ///< D is stored as data that will not be read soon

  friend constexpr bool operator==(const RowStripsConfig&, const RowStripsConfig&) = default;
};

struct RowStripsArgs {
  const void* lhs;         ///< A, [m, n]
  const void* rhs;         ///< B, [k, n]
  void* output;            ///< D's nonzeros, or the parts of their sums: [batch, parts, nonzeros]
  const void* multiplier;  ///< C's nonzeros; read only where the traits multiply
  const float* device_scale;
  const void* column_indices;
  const Strip* strips;
  long long strip_count;
  long long bands;  ///< strips of a usual row; read only with column_bands
  long long n;
  long long lhs_leading;  ///< elements between rows of A
  long long rhs_leading;
  long long lhs_stride;  ///< elements between two A of the batch
  long long rhs_stride;
  long long output_stride;
  long long multiplier_stride;
  long long batch;
  long long part_length;  ///< of n: a multiple of the step's length, or n
  float scale;
};

template <FieldsOf<RowStripsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("index", traits.index);
  visit("wide_offsets", traits.wide_offsets);
  visit("blocked_sum", traits.blocked_sum);
  visit("dense_alignment", traits.dense_alignment);
  visit("scale", traits.scale);
  visit("multiply", traits.multiply);
  visit("accumulate", traits.accumulate);
}

template <FieldsOf<RowStripsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("strip_entries", config.strip_entries);
  visit("threads_per_strip", config.threads_per_strip);
  visit("strips_per_block", config.strips_per_block);
  visit("dense_vector", config.dense_vector);
  visit("step_vectors", config.step_vectors);
  visit("loads_in_flight", config.loads_in_flight);
  visit("overlap_batches", config.overlap_batches);
  visit("column_path", config.column_path);
  visit("column_bands", config.column_bands);
  visit("n_split", config.n_split);
  visit("min_blocks", config.min_blocks);
  visit("stream_output", config.stream_output);
}

constexpr int threads(const RowStripsConfig& config) { return config.strips_per_block * config.threads_per_strip; }

/// Elements along n that a strip's lanes multiply in one step.
constexpr int step_length(const RowStripsConfig& config) {
  return config.threads_per_strip * config.dense_vector * config.step_vectors;
}

/// Dynamic shared memory of a block: one offset per entry, and 16 bytes per strip that spread neighbouring strips over
/// the banks.
constexpr int shared_bytes(const RowStripsTraits& traits, const RowStripsConfig& config) {
  if (config.column_path != ColumnPath::shared) return 0;
  return config.strips_per_block * (config.strip_entries * (traits.wide_offsets ? 8 : 4) + 16);
}

/// Parts of n at most.
consteval int most_strip_parts() { return 1024; }

constexpr void kernel_rules(RuleCheck& rule, const RowStripsTraits& t, const RowStripsConfig& c) {
  rule("threads_per_strip is a power of two of at most 32",
       [&] { return is_power_of_two(c.threads_per_strip, 1, 32); });
  rule("a block has 1 to 32 whole warps", [&] { return is_block(c.strips_per_block, c.threads_per_strip); });
  rule("strip_entries is a power of two from 4 to 128", [&] { return is_power_of_two(c.strip_entries, 4, 128); });
  rule("dense_vector is a power of two of at most 16 bytes", [&] { return is_vector(c.dense_vector, t.element); });
  rule("dense_vector is no wider than the alignment of A's and B's rows",
       [&] { return c.dense_vector * size_of(t.element) <= t.dense_alignment; });
  rule("step_vectors is a power of two of at most 16", [&] { return is_power_of_two(c.step_vectors, 1, 16); });
  rule("loads_in_flight is a power of two that divides strip_entries",
       [&] { return is_power_of_two(c.loads_in_flight, 1, c.strip_entries); });
  rule("n_split is a power of two of at most 1024", [&] { return is_power_of_two(c.n_split, 1, most_strip_parts()); });
  rule("min_blocks is 1 to 32", [&] { return within(c.min_blocks, 1, 32); });
}

}  // namespace vostok
