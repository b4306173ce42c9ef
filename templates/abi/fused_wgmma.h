// fused_wgmma, attention by wgmma (sm_90a): what host and kernel share.
#pragma once

#include "abi/attention_groups.h"
#include "abi/fused_attention.h"

namespace vostok {

/// The tunables.
struct FusedWgmmaConfig {
  int groups = 2;              ///< warpgroups that multiply, of 64 queries each; one more copies
  int stages = 3;              ///< steps' keys and values in shared memory or on their way there
  int step_tiles = 1;          ///< tiles of keys whose scores a warpgroup has at a time
  int slices = 1;              ///< of each block's keys, joined by a second launch
  int min_blocks = 1;          ///< blocks per multiprocessor that registers must allow
  bool keeps_queries = false;  ///< queries stay in registers
  bool persistent = false;     ///< blocks stay, and load what comes next while they store
  bool skips_tiles = false;    ///< a tile has keys that the same warpgroups name; others skip it
  bool values_apart = false;   ///< values have barriers of their own: keys are free before their values are

  friend constexpr bool operator==(const FusedWgmmaConfig&, const FusedWgmmaConfig&) = default;
};

template <FieldsOf<FusedWgmmaConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("groups", config.groups);
  visit("stages", config.stages);
  visit("step_tiles", config.step_tiles);
  visit("slices", config.slices);
  visit("min_blocks", config.min_blocks);
  visit("keeps_queries", config.keeps_queries);
  visit("persistent", config.persistent);
  visit("skips_tiles", config.skips_tiles);
  visit("values_apart", config.values_apart);
}

constexpr int threads(const FusedWgmmaConfig& config) { return group_threads(config.groups); }
constexpr int block_queries(const FusedWgmmaConfig& config) { return group_queries() * config.groups; }
constexpr int query_parts(const FusedWgmmaConfig& config) { return config.skips_tiles ? config.groups : 1; }

constexpr int step_keys(const FusedWgmmaConfig& config) { return tile_keys() * config.step_tiles; }

constexpr int key_slabs(const FusedAttentionTraits& traits) { return slabs_of(line_parts(traits) * traits.key_size); }
constexpr int value_width(const FusedAttentionTraits& traits) { return multiplied_width(traits.value_size); }

constexpr int value_slabs(const FusedAttentionTraits& traits) { return line_parts(traits) * value_width(traits) / 64; }
/// Elements of a part of a value's line.
constexpr int value_part(const FusedAttentionTraits& traits, const FusedWgmmaConfig&) { return value_width(traits); }

/// Of one step's keys and values.
constexpr int step_slab_bytes(const FusedAttentionTraits& traits, const FusedWgmmaConfig& config) {
  return (key_slabs(traits) + value_slabs(traits)) * slab_bytes(step_keys(config));
}
/// Behind them are exponents of terms, in as many bytes as slabs are aligned to.
constexpr int wgmma_stage_bytes(const FusedAttentionTraits& traits, const FusedWgmmaConfig& config) {
  return step_slab_bytes(traits, config) + (traits.terms > 0 ? 1024 : 0);
}

constexpr int query_bytes(const FusedAttentionTraits& traits, const FusedWgmmaConfig& config) {
  return config.groups * key_slabs(traits) * slab_bytes(group_queries());
}

/// Whether biases lie in shared memory: beside the sums of wide values of two terms no lane has registers for them.
constexpr bool biases_in_shared(const FusedAttentionTraits& traits) {
  return traits.biased && promotes(traits) && traits.value_size > 64;
}
constexpr bool biases_in_registers(const FusedAttentionTraits& traits) {
  return traits.biased && !biases_in_shared(traits);
}
/// Shared memory for those of a step: a word for each score of a lane.
constexpr int bias_bytes(const FusedAttentionTraits& traits, const FusedWgmmaConfig& config) {
  return biases_in_shared(traits) ? block_queries(config) * step_keys(config) * 4 : 0;
}

/// Dynamic shared memory of a block: queries, stages, barriers of both, and biases.
constexpr int shared_bytes(const FusedAttentionTraits& traits, const FusedWgmmaConfig& config) {
  return query_bytes(traits, config) + config.stages * wgmma_stage_bytes(traits, config) + bias_bytes(traits, config) +
         1024;
}

constexpr int launch_registers(const FusedWgmmaConfig& config) {
  return launch_registers(config.groups, config.min_blocks);
}
constexpr bool exchanges_registers(const FusedWgmmaConfig& config) {
  return exchanges_registers(config.groups, config.min_blocks);
}
constexpr int kept_registers(const FusedWgmmaConfig& config) { return config.step_tiles == 1 ? 40 : 56; }
constexpr int gained_registers(const FusedWgmmaConfig& config) {
  return gained_registers(config.groups, config.min_blocks, kept_registers(config));
}

/// Registers of a multiplying thread for sums, scores, probabilities and queries.
constexpr int lane_registers(const FusedAttentionTraits& traits, const FusedWgmmaConfig& config) {
  const int queries = config.keeps_queries ? traits.key_size / 4 : 0;
  const int biases = biases_in_shared(traits) ? 8 : bias_registers(traits, step_keys(config));
  const int sums = (promotes(traits) ? 2 : 1) * value_width(traits) / 2;
  return sums + step_keys(config) / 2 + line_parts(traits) * step_keys(config) / 4 + queries + biases;
}

constexpr void kernel_rules(RuleCheck& rule, const FusedAttentionTraits& t, const FusedWgmmaConfig& c) {
  attention_rules(rule, t);
  rule("groups is 1 to 3", [&] { return within(c.groups, 1, 3); });
  rule("stages is 2 to 8", [&] { return within(c.stages, 2, 8); });
  rule("step_tiles is 1 or 2", [&] { return within(c.step_tiles, 1, 2); });
  rule("slices is 1 to 64", [&] { return within(c.slices, 1, 64); });
  rule("min_blocks is 1 to 3", [&] { return within(c.min_blocks, 1, 3); });
  rule("a warpgroup skips tiles of others, where steps are of one tile, and keys of all tiles need not ascend",
       [&] { return !c.skips_tiles || (c.groups > 1 && c.stages > 2 && c.step_tiles == 1 && !t.causal && !t.biased); });
  rule("values of two terms are apart, as no more than two stages of them fit",
       [&] { return c.values_apart || t.terms < 2; });
  rule("queries of terms stay in shared memory", [&] { return t.terms == 0 || !c.keeps_queries; });
}

}  // namespace vostok
