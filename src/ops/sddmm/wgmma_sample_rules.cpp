// Adds to the rules of the kernel (abi/wgmma_sample.h) what only the problem or the device knows, and what cannot be
// fast.
#include <algorithm>
#include <array>

#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sample_rules.hpp"
#include "ops/sddmm/sum_parts.hpp"
#include "ops/sddmm/wgmma_sample.hpp"
#include "ops/tensor_maps.hpp"
#include "ops/topology/tile_lists.hpp"

namespace vostok::ops::wgmma_sample {

namespace {

using Case = ops::Case<SddmmQuery, TensorSampleTraits, WgmmaSampleConfig>;
using Rule = ops::Rule<Case>;

/// Registers for sums, an A that stays, addresses and a batch of gathered entries, as NVRTC 13.0 allocates them.
int registers_needed(const Case& c) {
  const int sums = c.config.tile_columns / 2 * (promotes(c.traits, c.config) ? 2 : 1);
  const int terms_kept = splits_operands(c.config) ? 4 : keeps_lhs(c.traits) ? sample_terms(c.config.mode) : 0;
  const int kept = 4 * steps_of_block() * terms_kept;  // of TF32 a step of 16 has two terms twice
  // Under tf32x3 512 threads leave 216 registers: what spills beyond is 24 to 68 bytes, outside of the loops.
  const int addresses = splits_operands(c.config) ? 24 : 32;
  return sums + kept + addresses;
}

/// Of those, what a multiplication needs at once: the compiler keeps to the launch's registers, not to what warpgroups
/// gain.
int registers_at_once(const Case& c) {
  constexpr int addresses = 32;
  return c.config.tile_columns / 2 + addresses;
}

/// Steps between promotions of sums out of the tensor cores.
int promotion_steps(const Case& c) { return c.traits.one_block ? 0 : c.config.promotion_blocks * steps_of_block(); }

/// n blocks whose products tensor cores add up, cutting every sum: 16,384 products are the most.
constexpr std::int64_t most_blocks_uncut = 256;
std::int64_t blocks_uncut(const Case& c) {
  const std::int64_t part = sampled::part_blocks(c.query, c.config.n_split);
  return promotes(c.traits, c.config) ? std::min<std::int64_t>(part, c.config.promotion_blocks) : part;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{sampled::mode_serves<Case>.reason,
         [](const Case& c) { return !splits_operands(c.config) && !sampled::serves(c.query, c.config.mode); }},
    Rule{"mode tf32x3 takes f32 operands that lie by rows, as tensor maps take them, an n of 128 and more, and math = "
         "accurate",
         [](const Case& c) { return splits_operands(c.config) && !splits_in_place(c.query); }},
    Rule{"one warpgroup has no others to take turns with",
         [](const Case& c) { return c.config.takes_turns && c.config.warpgroups == 1; }},
    Rule{"more sums of a part would round past what math = accurate allows",
         [](const Case& c) { return !sampled::adds_few_sums(c.query, promotion_steps(c), c.config.n_split); }},
    Rule{"tensor cores would add up more than 16384 products, and cut each sum",
         [](const Case& c) { return blocks_uncut(c) > most_blocks_uncut; }},
    Rule{lacks_tensor_maps_reason,
         [](const Case& c) { return c.config.tensor_copies && lacks_tensor_maps(c.query.device); }},
    Rule{"tensor_copies takes operands whose lines start at multiples of 16 bytes",
         [](const Case& c) { return c.config.tensor_copies && !is_aligned_for_maps(c.query); }},
    Rule{"an operand is larger than a tensor map can say",
         [](const Case& c) { return c.config.tensor_copies && !is_within_maps(c.query); }},
    sampled::every_part_has_blocks<Case>,
    sampled::grid_holds_parts<Case>,
    Rule{"min_blocks blocks have more threads than a multiprocessor runs",
         [](const Case& c) { return threads(c.config) * c.config.min_blocks > multiprocessor_of_sm_90.threads; }},
    Rule{"sums and fragments do not fit the registers that min_blocks leaves",
         [](const Case& c) {
           return registers_needed(c) > gained_registers(c.config) || registers_at_once(c) > launch_registers(c.config);
         }},
    Rule{"stages, sums and lists do not fit the device's shared memory",
         [](const Case& c) {
           const int bytes = shared_bytes(c.traits, c.config);
           return bytes > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_90) ||
                  c.config.min_blocks * (bytes + reserved_shared_bytes) >
                      multiprocessor_of(c.query.device, multiprocessor_of_sm_90).shared_bytes;
         }},
    Rule{"half of the tile's rows or more would lie past the last one",
         [](const Case& c) { return c.config.warpgroups > 1 && tile_rows(c.config) >= 2 * c.query.statistics.rows; }},
    Rule{"half of the tile's columns, of more than 32, would lie past the last one",
         [](const Case& c) {
           return tile_columns(c.config) > 32 && tile_columns(c.config) >= 2 * c.query.statistics.cols;
         }},
    sampled::mask_has_lists<Case>,
    parts_fit<Case>,
};

}  // namespace

bool is_aligned_for_maps(const SddmmQuery& query) {
  constexpr int map_alignment = 16;
  return line_alignment(query, query.lhs()) >= map_alignment && line_alignment(query, query.rhs()) >= map_alignment;
}

bool is_within_maps(const SddmmQuery& query) {
  const Sddmm& problem = query.problem;
  return !is_past_tensor_maps(query.lhs(), problem.batch, problem.element) &&
         !is_past_tensor_maps(query.rhs(), problem.batch, problem.element);
}

bool splits_in_place(const SddmmQuery& query) {
  constexpr std::int64_t least_n = 128;  // shorter sums are promised to err by less than it does
  const Sddmm& problem = query.problem;
  return problem.element == Dtype::f32 && problem.math == Math::accurate && problem.lhs_layout == Layout::row_major &&
         problem.rhs_layout == Layout::row_major && problem.n >= least_n && takes_tensor_maps(query);
}

bool takes_tensor_maps(const SddmmQuery& query) {
  return !lacks_tensor_maps(query.device) && is_aligned_for_maps(query) && is_within_maps(query);
}

std::optional<std::string> declines(const SddmmQuery& query) {
  if (auto reason = sampled::declines(query)) return reason;
  if (auto reason = tile_lists_declined(query.statistics, tile_shape(smallest_config(query)))) return reason;
  if (auto reason = forbidden(query, smallest_config(query))) return "no tile serves the sizes: " + *reason;
  return std::nullopt;
}

bool admits(const SddmmQuery& query, const WgmmaSampleConfig& config) {
  return reason_against(Case{query, traits(query, config), config}, rules) == nullptr;
}

std::optional<std::string> forbidden(const SddmmQuery& query, const WgmmaSampleConfig& config) {
  return to_reason(reason_against(Case{query, traits(query, config), config}, rules));
}

}  // namespace vostok::ops::wgmma_sample
