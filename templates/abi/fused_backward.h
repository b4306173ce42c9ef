// The gradients of attention at a mask, by kernels that make scores once more: what host and kernels share.
//
// Three kernels walk tiles (abi/key_tiles.h), each with blocks of its own lines and tiles of others:
//   rows      own: queries and the output's gradient, others: keys and values. Two numbers for each query, where the
//             forward pass left nothing to make them of (attention/saved_rows.h)
//   by_query  the same. The gradient by queries
//   by_key    own: keys and values, others: queries and the output's gradient, by the transposed mask. The gradients by
//             keys and by values
#pragma once

#include "abi/fused_mma.h"

namespace vostok {

enum class BackwardPart : int { rows, by_query, by_key };

constexpr const char* name(BackwardPart value) {
  switch (value) {
    case BackwardPart::rows: return "rows";
    case BackwardPart::by_query: return "by_query";
    case BackwardPart::by_key: return "by_key";
  }
  return nullptr;
}

constexpr const char* type_name(BackwardPart) { return "BackwardPart"; }

/// What the problem fixes.
struct FusedBackwardTraits {
  BackwardPart part = BackwardPart::rows;
  Dtype element = Dtype::f16;
  int key_size = 64;    ///< of a query and a key, rounded up to a multiple of 16, or of 32 from 129 on
  int value_size = 64;  ///< likewise
  bool whole = true;    ///< neither was rounded up
  IndexType index = IndexType::i32;
  bool grouped = false;  ///< heads of queries share those of keys
  bool capped = false;   ///< scores go through tanh
  bool causal = false;
  bool biased = false;   ///< elements of the mask have biases
  bool dropped = false;  ///< probabilities are, at random (abi/dropout.h)
  int terms = 0;         ///< in 16 bits that each f32 is multiplied as; 0: of elements that have 16 bits
};

constexpr bool is_by_key(const FusedBackwardTraits& traits) { return traits.part == BackwardPart::by_key; }

/// The tunables, of all three kernels.
struct FusedBackwardConfig {
  int warps = 4;         ///< of a block, of 16 own lines each
  int step_keys = 32;    ///< lines of a tile whose scores a warp has at a time
  int stages = 2;        ///< tiles in shared memory or on their way there; 1: none is on its way beside another
  int min_blocks = 1;    ///< blocks per multiprocessor that registers must allow
  int slices = 1;        ///< the only value: of parts that this family shares
  int column_parts = 1;  ///< of gradients' lines, a block each: sums of wide heads leave no registers

  friend constexpr bool operator==(const FusedBackwardConfig&, const FusedBackwardConfig&) = default;
};

/// Lines by what they are in products: `key_size` and `value_size` long.
struct FusedBackwardArgs {
  FusedAttentionArgs walk;  ///< query: own lines of key_size; key, value: others of key_size and value_size; tiles and
                            ///< mask as they are walked; rows: own lines
  const void* own_values;   ///< own lines of value_size
  long long own_values_leading;
  long long own_values_stride;
  float* statistics;  ///< [heads, queries, 2]: the logarithm of the sum of exponentials in powers of two, and the sum
                      ///< of probabilities times their gradients
  long long queries;
  const void* output;       ///< of the forward pass, laid out as its gradient; only where that left logarithms
  const float* logarithms;  ///< [heads, queries]: of the sum of exponentials
  void* key_gradient;       ///< by own lines of key_size, laid out as these
  void* value_gradient;
  void* bias_gradient;        ///< [heads of queries, elements of the mask], or null
  long long elements;         ///< of the mask
  TermLines own_value_terms;  ///< of operands of f32; the others' are the walk's
};

template <FieldsOf<FusedBackwardTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("part", traits.part);
  visit("element", traits.element);
  visit("key_size", traits.key_size);
  visit("value_size", traits.value_size);
  visit("whole", traits.whole);
  visit("index", traits.index);
  visit("grouped", traits.grouped);
  visit("capped", traits.capped);
  visit("causal", traits.causal);
  visit("biased", traits.biased);
  visit("dropped", traits.dropped);
  visit("terms", traits.terms);
}

template <FieldsOf<FusedBackwardConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("warps", config.warps);
  visit("step_keys", config.step_keys);
  visit("stages", config.stages);
  visit("min_blocks", config.min_blocks);
  visit("slices", config.slices);
  visit("column_parts", config.column_parts);
}

/// Of the launch that makes numbers of what the forward pass left.
struct SavedRowsConfig {
  int warps = 8;  ///< a query each
};

template <FieldsOf<SavedRowsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("warps", config.warps);
}

constexpr int threads(const FusedBackwardConfig& config) { return 32 * config.warps; }
constexpr int block_queries(const FusedBackwardConfig& config) { return strip_queries() * config.warps; }

/// Elements of a part of a line of value_size, in every family of gradients.
template <class Config>
constexpr int value_part(const FusedBackwardTraits& traits, const Config&) {
  return traits.value_size;
}

constexpr int column_parts(const FusedBackwardTraits& traits, const FusedBackwardConfig& config) {
  return traits.part == BackwardPart::rows ? 1 : config.column_parts;
}

/// Of one tile: lines of both sizes, two numbers for each, and the exponents of terms.
constexpr int backward_stage_bytes(const FusedBackwardTraits& traits) {
  return tile_keys() * (key_line_bytes(traits) + value_line_bytes(traits) + 8 + (traits.terms > 0 ? 8 : 0));
}

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const FusedBackwardTraits& traits, const FusedBackwardConfig& config) {
  return block_queries(config) * (key_line_bytes(traits) + value_line_bytes(traits)) +
         config.stages * backward_stage_bytes(traits);
}

/// Registers of a lane that live through a step of the largest kernel, by_key.
constexpr int lane_registers(const FusedBackwardTraits& traits, const FusedBackwardConfig& config) {
  const int of_terms = traits.terms > 0 ? config.step_keys / 2 - 12 : 0;  // as ptxas has it
  const int sums = (traits.key_size + traits.value_size) / config.column_parts / 2;
  return of_terms + sums + config.step_keys + config.step_keys / 2 + bias_registers(traits, config.step_keys) +
         dropout_registers(traits.dropped);
}

constexpr void kernel_rules(RuleCheck& rule, const FusedBackwardTraits& t, const FusedBackwardConfig& c) {
  attention_rules(rule, {.element = t.element, .key_size = t.key_size, .value_size = t.value_size, .terms = t.terms});
  rule("a block has 1, 2, 4 or 8 warps", [&] { return is_power_of_two(c.warps, 1, 8); });
  rule("step_keys is 16, 32 or 64", [&] { return is_power_of_two(c.step_keys, 16, tile_keys()); });
  rule("stages is 1 to 4", [&] { return within(c.stages, 1, 4); });
  rule("min_blocks is 1 to 8", [&] { return within(c.min_blocks, 1, 8); });
  rule("slices is 1", [&] { return c.slices == 1; });
  rule("column_parts is 1 or 2, and parts of lines are multiples of 16 elements", [&] {
    return within(c.column_parts, 1, 2) && t.key_size % (16 * c.column_parts) == 0 &&
           t.value_size % (16 * c.column_parts) == 0;
  });
}

}  // namespace vostok
