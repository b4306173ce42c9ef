// fused_backward_wgmma, the gradients of attention by wgmma (sm_90a): what host and kernels share. The kernels are
// those of fused_backward (abi/fused_backward.h).
#pragma once

#include "abi/attention_groups.h"
#include "abi/fused_backward.h"

namespace vostok {

/// The tunables, of all three kernels.
struct FusedBackwardWgmmaConfig {
  int groups = 2;      ///< warpgroups that multiply, of 64 own lines each; one more copies
  int stages = 2;      ///< tiles in shared memory or on their way there
  int min_blocks = 1;  ///< blocks per multiprocessor that registers must allow
  int slices = 1;      ///< the only value: of parts that this family shares

  friend constexpr bool operator==(const FusedBackwardWgmmaConfig&, const FusedBackwardWgmmaConfig&) = default;
};

template <FieldsOf<FusedBackwardWgmmaConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("groups", config.groups);
  visit("stages", config.stages);
  visit("min_blocks", config.min_blocks);
  visit("slices", config.slices);
}

constexpr int threads(const FusedBackwardWgmmaConfig& config) { return group_threads(config.groups); }
constexpr int block_queries(const FusedBackwardWgmmaConfig& config) { return group_queries() * config.groups; }

/// Of one warpgroup: lines of key_size, and behind them lines of value_size.
constexpr int own_slabs(const FusedBackwardTraits& traits) {
  return line_parts(traits) * (slabs_of(traits.key_size) + slabs_of(traits.value_size));
}
constexpr int group_own_bytes(const FusedBackwardTraits& traits) {
  return own_slabs(traits) * slab_bytes(group_queries());
}
constexpr int own_bytes(const FusedBackwardTraits& traits, const FusedBackwardWgmmaConfig& config) {
  return config.groups * group_own_bytes(traits);
}

/// Of a part of one tile, likewise; a line is as long as what is multiplied.
constexpr int backward_key_slabs(const FusedBackwardTraits& traits) { return multiplied_width(traits.key_size) / 64; }
constexpr int backward_value_slabs(const FusedBackwardTraits& traits) {
  return multiplied_width(traits.value_size) / 64;
}
constexpr int tile_line_bytes(const FusedBackwardTraits& traits) {
  return line_parts(traits) * (backward_key_slabs(traits) + backward_value_slabs(traits)) * slab_bytes(tile_keys());
}
/// Two numbers for each line of a tile.
consteval int tile_number_bytes() { return 8 * tile_keys(); }

/// Dynamic shared memory of a block: own lines, stages, numbers of each, and barriers.
constexpr int shared_bytes(const FusedBackwardTraits& traits, const FusedBackwardWgmmaConfig& config) {
  return own_bytes(traits, config) + config.stages * (tile_line_bytes(traits) + tile_number_bytes()) + 1024;
}

/// f32 sums of a lane of one of the kernels.
constexpr int lane_sums(const FusedBackwardTraits& traits) {
  const int keys = multiplied_width(traits.key_size) / 2, values = multiplied_width(traits.value_size) / 2;
  switch (traits.part) {
    case BackwardPart::rows: return 0;
    case BackwardPart::by_query: return keys;
    case BackwardPart::by_key: return keys + values;
  }
  return 0;
}

/// Whether products with weights go on beside those of the next tile: weights then have registers of their own, which
/// biases and dropout together leave to fewer sums.
constexpr bool queues_ahead(const FusedBackwardTraits& traits) {
  return lane_sums(traits) <= (traits.biased && traits.dropped ? 48 : 64);
}

/// Registers that threads which copy keep. With dropout 40 are a few short; where many are summed none are to spare.
constexpr int backward_kept_registers(const FusedBackwardTraits& traits) {
  return traits.dropped && queues_ahead(traits) ? 48 : 40;
}
constexpr int gained_registers(const FusedBackwardTraits& traits, const FusedBackwardWgmmaConfig& config) {
  return gained_registers(config.groups, config.min_blocks, backward_kept_registers(traits));
}

/// Registers of a lane that live through a step: sums, scores, gradients and weights.
constexpr int lane_registers(const FusedBackwardTraits& traits, const FusedBackwardWgmmaConfig&) {
  return lane_sums(traits) + tile_keys() + tile_keys() / 4;
}

constexpr void kernel_rules(RuleCheck& rule, const FusedBackwardTraits& t, const FusedBackwardWgmmaConfig& c) {
  attention_rules(rule, {.element = t.element, .key_size = t.key_size, .value_size = t.value_size});
  rule("elements have 16 bits", [&] { return t.terms == 0; });
  rule("groups is 1 to 3", [&] { return within(c.groups, 1, 3); });
  rule("stages is 2 to 6", [&] { return within(c.stages, 2, 6); });
  rule("min_blocks is 1 to 3", [&] { return within(c.min_blocks, 1, 3); });
  rule("slices is 1", [&] { return c.slices == 1; });
}

}  // namespace vostok
