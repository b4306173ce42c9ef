// Attention at a mask in one kernel: what host and kernels share, of every instruction that multiplies.
#pragma once

#include "abi/attention_terms.h"
#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/key_tiles.h"
#include "abi/rules.h"

namespace vostok {

/// What the problem fixes.
struct FusedAttentionTraits {
  Dtype element = Dtype::f16;
  int key_size = 64;    ///< of a query and a key, rounded up to a multiple of 16, or of 32 from 129 on
  int value_size = 64;  ///< likewise
  bool whole = true;    ///< neither was rounded up
  bool statistics = false;
  IndexType index = IndexType::i32;
  bool grouped = false;  ///< heads of queries share those of keys
  bool capped = false;   ///< scores go through tanh
  bool causal = false;
  int terms = 0;         ///< in 16 bits that each f32 is multiplied as; 0: of elements that have 16 bits
  bool biased = false;   ///< elements of the mask have biases
  bool dropped = false;  ///< probabilities are, at random (abi/dropout.h)
};

/// Whether own lines are keys, and those of tiles queries (abi/fused_backward.h).
constexpr bool is_by_key(const FusedAttentionTraits&) { return false; }

/// Traits of either pass.
template <class Traits>
concept TraitsOfTerms = requires(const Traits& traits) { traits.terms; };

/// The type that is multiplied.
constexpr Dtype multiplied_type(const TraitsOfTerms auto& traits) {
  return traits.terms > 0 ? Dtype::f16 : traits.element;
}
/// Parts of a line in shared memory: its terms, or itself.
constexpr int line_parts(const TraitsOfTerms auto& traits) { return traits.terms > 0 ? traits.terms : 1; }
/// Whether sums of a step are added to those before: tensor cores round towards zero at every addition.
constexpr bool promotes(const TraitsOfTerms auto& traits) { return traits.terms == 2; }

struct FusedAttentionArgs {
  const void* query;
  const void* key;
  const void* value;
  void* output;
  float* statistics;    ///< [heads, rows]: the logarithm of each row's sum of exponentials
  float* partial_sums;  ///< [heads, slices, rows, value_size]; one slice: none
  float* partial_rows;  ///< [heads, slices, rows, 2]: the origin of the sums, and the sum of exponentials
  KeyTiles tiles;
  const int* row_offsets;
  const void* column_indices;
  long long query_leading;  ///< elements between two queries, and so on
  long long key_leading;
  long long value_leading;
  long long output_leading;
  long long query_stride;  ///< elements between two heads
  long long key_stride;
  long long value_stride;
  long long output_stride;
  long long heads;
  long long rows;
  int key_size;  ///< as the problem has it
  int value_size;
  float scale;
  float cap_inner;       ///< of capped scores: scale / softcap
  float cap_exponent;    ///< and softcap in powers of two
  int group;             ///< heads of queries that share keys; batches have less than 2^32 heads
  long long key_offset;  ///< a query's own key, behind which it sees none, less its number
  AttentionTerms terms;  ///< of operands of f32
  long long keys;        ///< of a head
  float softcap;
  const void* bias;  ///< [heads of queries, elements of the mask]
  long long bias_stride;
  const int* places;                        ///< by key: of the elements that are walked, in the order of biases
  const unsigned long long* dropout_state;  ///< of dropped probabilities: seed and offset
  unsigned dropped_below;
  float kept_scale;  ///< 1 / (1 - rate)
};

template <FieldsOf<FusedAttentionTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("key_size", traits.key_size);
  visit("value_size", traits.value_size);
  visit("whole", traits.whole);
  visit("statistics", traits.statistics);
  visit("index", traits.index);
  visit("grouped", traits.grouped);
  visit("capped", traits.capped);
  visit("causal", traits.causal);
  visit("terms", traits.terms);
  visit("biased", traits.biased);
  visit("dropped", traits.dropped);
}

/// Registers of a lane for biases of a strip with so many keys, and where they are.
template <class Traits>
constexpr int bias_registers(const Traits& traits, int keys) {
  return traits.biased ? keys / 8 * (size_of(traits.element) + 2) + 8 : 0;
}

/// Parts of the columns of what a family stores, a block each (attention/column_part.h): of those that say nothing
/// else.
template <class Traits, class Config>
constexpr int column_parts(const Traits&, const Config&) {
  return 1;
}

/// Registers of a lane for dropped probabilities, of kernels whose others are counted closely.
constexpr int dropout_registers(bool dropped) { return dropped ? 28 : 0; }

/// Sizes that kernels take. Of wide heads each half has a multiple of 16 elements, too.
consteval int most_head_size() { return 256; }
constexpr int rounded_head_size(long long size) {
  const int multiple = size > 128 ? 32 : 16;
  return static_cast<int>((size + multiple - 1) / multiple) * multiple;
}

constexpr void attention_rules(RuleCheck& rule, const FusedAttentionTraits& t) {
  rule("elements have 16 bits, or are split into one or two terms that have",
       [&] { return t.element == Dtype::f32 ? within(t.terms, 1, 2) : t.terms == 0; });
  rule("sizes of keys and values are multiples of 16, up to 256", [&] {
    return within(t.key_size, 16, most_head_size()) && within(t.value_size, 16, most_head_size()) &&
           t.key_size % 16 == 0 && t.value_size % 16 == 0;
  });
}

/// Of the launch that adds slices of keys.
struct JoinSlicesConfig {
  int warps = 8;  ///< a row each
  int slices = 2;
};

template <FieldsOf<JoinSlicesConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("warps", config.warps);
  visit("slices", config.slices);
}

}  // namespace vostok
