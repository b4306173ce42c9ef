// split_softmax, sparse softmax with rows cut into strips for several blocks: what host and kernels share.
#pragma once

#include "abi/softmax.h"
#include "abi/strip.h"

namespace vostok {

/// The tunables.
struct SplitSoftmaxConfig {
  int strip_entries = 4096;
  int threads_per_strip = 256;
  int strips_per_block = 1;
  int vector = 1;        ///< elements per load and store
  int held_vectors = 4;  ///< vectors that a thread loads at once

  friend constexpr bool operator==(const SplitSoftmaxConfig&, const SplitSoftmaxConfig&) = default;
};

struct SplitSoftmaxArgs {
  SoftmaxOperands operands;
  const Strip* strips;
  long long strip_count;
  void* partials;            ///< SoftmaxPartial or SoftmaxDotPartial, [batch, partial_stride]
  long long partial_stride;  ///< at least the number of strips that hold entries
};

template <FieldsOf<SplitSoftmaxConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("strip_entries", config.strip_entries);
  visit("threads_per_strip", config.threads_per_strip);
  visit("strips_per_block", config.strips_per_block);
  visit("vector", config.vector);
  visit("held_vectors", config.held_vectors);
}

constexpr int team_threads(const SplitSoftmaxConfig& config) { return config.threads_per_strip; }
constexpr int teams(const SplitSoftmaxConfig& config) { return config.strips_per_block; }
constexpr int threads(const SplitSoftmaxConfig& config) { return config.threads_per_strip * config.strips_per_block; }

constexpr int shared_bytes(const SoftmaxTraits& traits, const SplitSoftmaxConfig& config) {
  return softmax_shared_bytes(traits, team_threads(config), threads(config));
}

constexpr void kernel_rules(RuleCheck& rule, const SoftmaxTraits& t, const SplitSoftmaxConfig& c) {
  softmax_rules(rule, t, c);
  rule("strip_entries is 1 to 65536", [&] { return within(c.strip_entries, 1, 65536); });
}

}  // namespace vostok
