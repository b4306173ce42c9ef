// row_softmax, sparse softmax with a row for each part of a warp, warp or block: what host and kernel share.
#pragma once

#include "abi/softmax.h"

namespace vostok {

/// The tunables.
struct RowSoftmaxConfig {
  int threads_per_row = 32;  ///< part of a warp, a warp, or several warps
  int rows_per_block = 4;
  int vector = 1;           ///< elements per load and store
  int held_vectors = 4;     ///< vectors that a thread keeps in registers: what is longer than that is read twice
  bool row_swizzle = true;  ///< rows in order of length: neighbours in a warp take equally long

  friend constexpr bool operator==(const RowSoftmaxConfig&, const RowSoftmaxConfig&) = default;
};

struct RowSoftmaxArgs {
  SoftmaxOperands operands;
  const int* row_order;  ///< m rows by length, longest first; read only with row_swizzle
};

template <FieldsOf<RowSoftmaxConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads_per_row", config.threads_per_row);
  visit("rows_per_block", config.rows_per_block);
  visit("vector", config.vector);
  visit("held_vectors", config.held_vectors);
  visit("row_swizzle", config.row_swizzle);
}

constexpr int team_threads(const RowSoftmaxConfig& config) { return config.threads_per_row; }
constexpr int teams(const RowSoftmaxConfig& config) { return config.rows_per_block; }
constexpr int threads(const RowSoftmaxConfig& config) { return config.threads_per_row * config.rows_per_block; }

constexpr int shared_bytes(const SoftmaxTraits& traits, const RowSoftmaxConfig& config) {
  return softmax_shared_bytes(traits, team_threads(config), threads(config));
}

constexpr void kernel_rules(RuleCheck& rule, const SoftmaxTraits& t, const RowSoftmaxConfig& c) {
  softmax_rules(rule, t, c);
}

}  // namespace vostok
