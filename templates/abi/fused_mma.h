// fused_mma, attention by mma.sync (sm_80 and later): what host and kernel share.
#pragma once

#include "abi/fused_attention.h"

namespace vostok {

/// The tunables.
struct FusedMmaConfig {
  int warps = 4;
  int warp_strips = 2;  ///< strips of 16 queries of a warp
  int step_keys = 64;   ///< keys of a tile whose scores a warp has at a time
  int stages = 2;       ///< tiles of keys and values in shared memory or on their way there; 1: none is beside another
  int slices = 1;       ///< of each block's keys, joined by a second launch
  int min_blocks = 1;   ///< blocks per multiprocessor that registers must allow
  bool keeps_queries = false;  ///< queries stay in registers
  int column_parts = 1;        ///< of values' columns, a block each: sums of wide values leave no registers

  friend constexpr bool operator==(const FusedMmaConfig&, const FusedMmaConfig&) = default;
};

template <FieldsOf<FusedMmaConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("warps", config.warps);
  visit("warp_strips", config.warp_strips);
  visit("step_keys", config.step_keys);
  visit("stages", config.stages);
  visit("slices", config.slices);
  visit("min_blocks", config.min_blocks);
  visit("keeps_queries", config.keeps_queries);
  visit("column_parts", config.column_parts);
}

constexpr int threads(const FusedMmaConfig& config) { return 32 * config.warps; }
constexpr int block_queries(const FusedMmaConfig& config) {
  return strip_queries() * config.warps * config.warp_strips;
}

/// Bytes between two lines in shared memory: an odd number of 16 bytes, so that ldmatrix finds eight lines in eight
/// places.
constexpr int line_bytes(int size) { return 2 * size + 16; }

constexpr int key_line_bytes(const TraitsOfTerms auto& traits) {
  return line_bytes(line_parts(traits) * traits.key_size);
}
constexpr int value_line_bytes(const TraitsOfTerms auto& traits) {
  return line_bytes(line_parts(traits) * traits.value_size);
}
constexpr int column_parts(const FusedAttentionTraits&, const FusedMmaConfig& config) { return config.column_parts; }

/// Elements of a part of a value's line.
constexpr int value_part(const FusedAttentionTraits& traits, const FusedMmaConfig&) { return traits.value_size; }

/// Of one tile's keys and values, and the exponents of terms.
constexpr int attention_stage_bytes(const FusedAttentionTraits& traits) {
  return tile_keys() * (key_line_bytes(traits) + value_line_bytes(traits) + (traits.terms > 0 ? 8 : 0));
}

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const FusedAttentionTraits& traits, const FusedMmaConfig& config) {
  return block_queries(config) * key_line_bytes(traits) + config.stages * attention_stage_bytes(traits);
}

/// f32 and packed registers of a lane that live through a step.
constexpr int lane_registers(const FusedAttentionTraits& traits, const FusedMmaConfig& config) {
  const int values = traits.value_size / config.column_parts;
  const int sums = config.warp_strips * (values / 2 + (promotes(traits) ? 16 : 0));  // of 32 values anew
  const int scores = config.warp_strips * config.step_keys / 2;
  const int queries = config.keeps_queries ? config.warp_strips * traits.key_size / 4 : 4 * config.warp_strips;
  const int wide_keys = promotes(traits) && traits.key_size > 128 ? 30 : 0;  // loaded ahead, as ptxas has it
  const int weights = traits.terms > 0 ? config.warp_strips * (traits.terms * config.step_keys / 4 + 16) : 0;
  return sums + scores + queries + wide_keys + weights + config.warp_strips * bias_registers(traits, config.step_keys) +
         dropout_registers(traits.dropped);
}

constexpr void kernel_rules(RuleCheck& rule, const FusedAttentionTraits& t, const FusedMmaConfig& c) {
  attention_rules(rule, t);
  rule("a block has 1, 2, 4 or 8 warps", [&] { return is_power_of_two(c.warps, 1, 8); });
  rule("a warp has 1 or 2 strips", [&] { return is_power_of_two(c.warp_strips, 1, 2); });
  rule("eight threads copy a line, and the lines of a tile are a multiple of those copied at a time",
       [&] { return tile_keys() % (threads(c) / 8) == 0; });
  rule("step_keys is 16, 32 or 64", [&] { return is_power_of_two(c.step_keys, 16, tile_keys()); });
  rule("stages is 1 to 4", [&] { return within(c.stages, 1, 4); });
  rule("slices is 1 to 64", [&] { return within(c.slices, 1, 64); });
  rule("min_blocks is 1 to 8", [&] { return within(c.min_blocks, 1, 8); });
  rule("column_parts is 1 or 2, and parts of values are multiples of 16 elements",
       [&] { return within(c.column_parts, 1, 2) && t.value_size % (16 * c.column_parts) == 0; });
  rule("parts of columns have one slice", [&] { return c.column_parts == 1 || c.slices == 1; });
  rule("queries of terms stay in shared memory", [&] { return t.terms == 0 || !c.keeps_queries; });
}

}  // namespace vostok
