// Adds to the rules of the kernel (abi/tensor_sample.h) what only the problem or the device knows, and what cannot be
// fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sample_rules.hpp"
#include "ops/sddmm/sum_parts.hpp"
#include "ops/sddmm/tensor_sample.hpp"
#include "ops/topology/tile_lists.hpp"

namespace vostok::ops::tensor_sample {

namespace {

using Case = ops::Case<SddmmQuery, TensorSampleTraits, TensorSampleConfig>;
using Rule = ops::Rule<Case>;

Multiprocessor multiprocessor(const Case& c) {
  return multiprocessor_of(c.query.device, least_multiprocessor_of_sm_80);
}

/// Registers of a thread that min_blocks allows.
int register_limit(const Case& c) { return registers_of_thread(threads(c.config), c.config.min_blocks) / 8 * 8; }

/// Registers for sums and fragments, as NVRTC 13.0 allocates them. A large tile needs separate registers for the next
/// sums while the last ones are still being added; products in two rounds keep more fragments.
int registers_needed(const Case& c) {
  const int terms = sample_terms(c.config.mode);
  const bool adds_within_blocks = promotes(c.traits, c.config) && c.config.promotion_steps < steps_of_block();
  const int sums = lane_sums(c.config) * (promotes(c.traits, c.config) ? 2 : 1);
  const int next_sums = adds_within_blocks && lane_sums(c.config) > 32 ? lane_sums(c.config) : 0;
  const int lhs = terms * 4 * (c.config.warp_rows / 16) * (c.config.kept_blocks == 1 ? steps_of_block() : 1);
  const int second_round = c.config.low_first ? lane_sums(c.config) / 2 : 0;
  const int addresses = terms == 2 ? 44 : 28;
  return sums + next_sums + lhs + second_round + 4 * terms + addresses;
}

/// Whether sums stay accurate. If all elements are alike, adding products with a low term to a sum of high ones loses
/// as much as adding high ones. A sum may then span two steps, or a whole block if the low products come first. 16-bit
/// elements have no low terms, so a sum may span a whole block.
bool keeps_sums_short(const Case& c) {
  if (c.query.problem.math == Math::tf32) return true;
  const bool whole_block = sample_terms(c.config.mode) == 1 || c.config.low_first;
  if (c.config.promotion_steps == 0) return whole_block && c.traits.one_block;
  return whole_block || c.config.promotion_steps <= 2;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    sampled::mode_serves<Case>,
    Rule{"kept_blocks is 0 or what n has",
         [](const Case& c) { return c.config.kept_blocks != 0 && c.config.kept_blocks != sampled::n_blocks(c.query); }},
    Rule{"sums of more steps would lose more than math = accurate allows",
         [](const Case& c) { return !keeps_sums_short(c); }},
    Rule{"more sums of a part would round past what math = accurate allows",
         [](const Case& c) { return !sampled::adds_few_sums(c.query, c.config.promotion_steps, c.config.n_split); }},
    sampled::every_part_has_blocks<Case>,
    sampled::grid_holds_parts<Case>,
    Rule{"stages, sums and lists do not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_80) ||
                  std::int64_t{c.config.min_blocks} * (shared_bytes(c.traits, c.config) + reserved_shared_bytes) >
                      multiprocessor(c).shared_bytes;
         }},
    Rule{"min_blocks blocks have more threads than a multiprocessor runs",
         [](const Case& c) { return threads(c.config) * c.config.min_blocks > multiprocessor(c).threads; }},
    Rule{"sums and fragments do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_needed(c) > register_limit(c); }},
    Rule{"half of the tile's rows, of more than 32, would lie past the last one",
         [](const Case& c) {
           return tile_rows(c.config) > 32 &&
                  tile_rows(c.config) >= 2 * std::max<std::int64_t>(c.query.statistics.rows, 32);
         }},
    Rule{"half of the tile's columns, of more than 32, would lie past the last one",
         [](const Case& c) {
           return tile_columns(c.config) > 32 &&
                  tile_columns(c.config) >= 2 * std::max<std::int64_t>(c.query.statistics.cols, 32);
         }},
    sampled::mask_has_lists<Case>,
    parts_fit<Case>,
};

}  // namespace

std::optional<std::string> declines(const SddmmQuery& query) {
  if (auto reason = sampled::declines(query)) return reason;
  if (auto reason = tile_lists_declined(query.statistics, tile_shape(smallest_config(query)))) return reason;
  if (auto reason = forbidden(query, smallest_config(query))) return "no tile serves the sizes: " + *reason;
  return std::nullopt;
}

bool admits(const SddmmQuery& query, const TensorSampleConfig& config) {
  return reason_against(Case{query, sampled::traits(query), config}, rules) == nullptr;
}

std::optional<std::string> forbidden(const SddmmQuery& query, const TensorSampleConfig& config) {
  return to_reason(reason_against(Case{query, sampled::traits(query), config}, rules));
}

}  // namespace vostok::ops::tensor_sample
