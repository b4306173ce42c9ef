// fused_backward_pair, the gradients of f32 attention by wgmma (sm_90a): what host and kernels share. The kernels are
// those of fused_backward (abi/fused_backward.h).
//
// A pair of warpgroups shares 64 own lines, as sums of one take what registers a thread has; a third copies.
#pragma once

#include "abi/fused_backward_wgmma.h"

namespace vostok {

/// The tunables, of all three kernels.
struct FusedBackwardPairConfig {
  int stages = 2;  ///< tiles in shared memory or on their way there
  int slices = 1;  ///< the only value: of parts that this family shares

  friend constexpr bool operator==(const FusedBackwardPairConfig&, const FusedBackwardPairConfig&) = default;
};

template <FieldsOf<FusedBackwardPairConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("stages", config.stages);
  visit("slices", config.slices);
}

constexpr int threads(const FusedBackwardPairConfig&) { return group_threads(2); }
constexpr int block_queries(const FusedBackwardPairConfig&) { return group_queries(); }

/// Of one tile: its lines, two numbers of each, and powers of both.
constexpr int pair_stage_bytes(const FusedBackwardTraits& traits) { return tile_line_bytes(traits) + 16 * tile_keys(); }

/// What one warpgroup hands to the other: a word for each score, and one more where scores have slopes, or where
/// factors of sums go with them.
constexpr int handed_scores(const FusedBackwardTraits& traits) {
  return traits.capped && traits.part != BackwardPart::rows ? 2 : 1;
}
constexpr int handed_bytes(const FusedBackwardTraits& traits) {
  return handed_scores(traits) * 4 * group_queries() * tile_keys() + (traits.part == BackwardPart::rows ? 2048 : 0);
}

/// Dynamic shared memory of a block: own lines, stages, what is handed over, and barriers.
constexpr int shared_bytes(const FusedBackwardTraits& traits, const FusedBackwardPairConfig& config) {
  return group_own_bytes(traits) + config.stages * pair_stage_bytes(traits) + handed_bytes(traits) + 1024;
}

/// Registers of threads that copy, and of the others.
consteval int pair_kept_registers() { return 48; }
consteval int pair_gained_registers() { return gained_registers(2, 1, pair_kept_registers()); }

constexpr void kernel_rules(RuleCheck& rule, const FusedBackwardTraits& t, const FusedBackwardPairConfig& c) {
  attention_rules(rule, {.element = t.element, .key_size = t.key_size, .value_size = t.value_size, .terms = t.terms});
  rule("elements are f32, of one or two terms", [&] { return t.terms > 0; });
  rule("stages is 2 to 6", [&] { return within(c.stages, 2, 6); });
  rule("slices is 1", [&] { return c.slices == 1; });
}

}  // namespace vostok
