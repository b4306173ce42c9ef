// Softmax over the rows of a sparse matrix, and its gradient: what the families share between host and kernel.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/rules.h"

namespace vostok {

/// What the problem fixes.
struct SoftmaxTraits {
  bool backward = false;
  Dtype element = Dtype::f32;  ///< of x, backward: of y and dL/dy
  Dtype output = Dtype::f32;
  Scale scale = Scale::one;
  RowStatistics statistics = RowStatistics::none;
  bool wide_offsets = false;  ///< row offsets are 64-bit: there are 2^31 nonzeros and more
  int widest_vector = 1;  ///< elements that alignment and strides let one load or store take at multiples of as many
};

/// What every kernel reads and writes. Strides count elements.
struct SoftmaxOperands {
  const void* values;         ///< x, backward: dL/dy
  const void* probabilities;  ///< backward: y
  void* output;               ///< y, backward: dL/dx
  float* row_statistics;      ///< [batch, m]
  const float* device_scale;
  const void* row_offsets;  ///< m + 1
  long long value_stride;
  long long probability_stride;
  long long output_stride;
  long long batch;
  unsigned m;
  float scale;
};

/// The exponentials of some entries of a row: their sum is sum * exp(maximum), as the kernels scale exponents.
struct SoftmaxPartial {
  float maximum;
  float sum;
};

/// The sum of y * dL/dy over some entries of a row.
struct SoftmaxDotPartial {
  float sum;
};

template <FieldsOf<SoftmaxTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("backward", traits.backward);
  visit("element", traits.element);
  visit("output", traits.output);
  visit("scale", traits.scale);
  visit("statistics", traits.statistics);
  visit("wide_offsets", traits.wide_offsets);
  visit("widest_vector", traits.widest_vector);
}

/// Bytes of what a thread, a warp or a strip knows about its part of a row.
constexpr int partial_bytes(const SoftmaxTraits& traits) {
  return traits.backward ? static_cast<int>(sizeof(SoftmaxDotPartial)) : static_cast<int>(sizeof(SoftmaxPartial));
}

/// Dynamic shared memory of a block whose teams have this many threads: a partial for each warp where a team has
/// several.
constexpr int softmax_shared_bytes(const SoftmaxTraits& traits, int team_threads, int block_threads) {
  const bool exchanges = team_threads > 32 && traits.statistics != RowStatistics::read;
  return exchanges ? block_threads / 32 * partial_bytes(traits) : 0;
}

/// The rules of both families' kernels.
template <class Config>
constexpr void softmax_rules(RuleCheck& rule, const SoftmaxTraits& t, const Config& c) {
  rule("the backward pass neither reads nor writes statistics",
       [&] { return !t.backward || t.statistics == RowStatistics::none; });
  rule("the threads of a row or strip are a power of two of at most 1024",
       [&] { return is_power_of_two(team_threads(c), 1, 1024); });
  rule("a block has 1 to 32 whole warps", [&] { return is_block(teams(c), team_threads(c)); });
  rule("vector is a power of two of at most 16 bytes", [&] { return is_vector(c.vector, t.element); });
  rule("vector is no wider than alignment and strides allow", [&] { return c.vector <= t.widest_vector; });
  rule("held_vectors is 1 to 32", [&] { return within(c.held_vectors, 1, 32); });
}

}  // namespace vostok
