// Adds to the rules of the kernel (abi/unpack_wgmma.h) what only the problem or the device knows, and what cannot be
// fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/tile_rules.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops::unpack_wgmma {

namespace {

using Case = ops::Case<SpmmQuery, UnpackWgmmaTraits, UnpackWgmmaConfig>;
using Rule = ops::Rule<Case>;

Case case_of(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  return {query, stage_traits(query, config), config};
}

/// Of a multiplying thread, for sums, fragments and addresses.
int registers_needed(const UnpackWgmmaConfig& config) {
  const int fragments = fragment_registers(config) * strips_at_once(config);
  // The fewer there are, the more are spent on what the compiler could not place otherwise.
  const int tight = of_warpgroups::register_limit(config) <= 64 ? 14 : 0;
  const int addresses = (config.overlap ? 24 : 15) + tight;
  // What a persistent block keeps from tile to tile, more beside two strips of two terms; sums that are scaled where
  // they are have their scales beside them.
  const int kept = (config.persistent ? (unpacks_ahead(config) && terms(config) == 2 ? 32 : 16) : 0) +
                   (promotes_once(config) ? config.tile_columns / 16 : 0);
  return sum_registers(config) + fragments + addresses + kept;
}

/// The rules independent of the k split. Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules_of_tile = {
    Rule{lacks_tf32_reason, [](const Case& c) { return lacks_tf32(c.query, c.config.mode); }},
    Rule{"lines of B do not start and end at the 16 bytes of a copy: it takes prepare_dense",
         [](const Case& c) { return !c.config.prepare_dense && dense_alignment(c.query) < 16; }},
    Rule{"rows of B are made of columns: it is column-major",
         [](const Case& c) {
           return transposes_dense(c.config) && c.query.problem.dense_layout != Layout::column_major;
         }},
    Rule{lacks_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && lacks_tensor_maps(c.query); }},
    Rule{past_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && is_past_tensor_maps(c.query); }},
    Rule{"boxes of a row-major B have 64 columns: tensor_copies takes as many in a tile, or all that there are",
         [](const Case& c) {
           return c.config.tensor_copies && !splits_dense(c.config) &&
                  is_narrower_than_boxes(c.query, c.traits.dense_layout, c.config.tile_columns);
         }},
    Rule{"the mask has no packed strips of that grain",
         [](const Case& c) {
           return c.config.grain != PackedGrain::pair &&
                  packed_strips_declined(c.query.statistics, c.config.grain).has_value();
         }},
    of_warpgroups::threads_fit<Case>,
    Rule{"sums and fragments do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_needed(c.config) > of_warpgroups::register_limit(c.config); }},
    Rule{"kept_blocks are not all k blocks of A",
         [](const Case& c) {
           return c.config.kept_blocks > 0 && c.config.kept_blocks != packed_k_blocks(c.query.statistics.cols);
         }},
    Rule{"dense_rooms are fewer than the k blocks of A",
         [](const Case& c) {
           return keeps_dense(c.config) && c.config.dense_rooms < packed_k_blocks(c.query.statistics.cols);
         }},
    of_warpgroups::operands_fit<Case>,
    of_tiles::grid_holds_tiles<Case>,
    Rule{"B has more tiles than their kernel's grid holds",
         [](const Case& c) {
           return c.config.prepare_dense && !transposes_dense(c.config) &&
                  split_dense_declined(c.query, {.mode = c.config.mode, .tile_columns = prepared_columns(c.config)})
                      .has_value();
         }},
    of_tiles::columns_are_filled<Case>,
    Rule{"half of the tile's rows or more would lie past the last one",
         [](const Case& c) { return c.config.warpgroups > 1 && tile_rows(c.config) >= 2 * c.query.statistics.rows; }},
};

/// The rules for the k split of a tile that the others admit.
constexpr std::array rules_of_slicing = {
    of_tiles::every_slice_has_blocks<Case>,
    Rule{exceeds_clusters_reason,
         [](const Case& c) {
           return exceeds_clusters({c.config.k_split, c.config.cluster_sums}, c.query.problem.batch);
         }},
    Rule{"a slice of k has fewer blocks of 64 than there are k_groups",
         [](const Case& c) { return c.config.k_groups > 1 && slice_blocks(c.query, c.config) < c.config.k_groups; }},
    of_tiles::grid_holds_slices<Case>,
    of_warpgroups::stages_fit<Case>,
    Rule{of_tiles::partial_bytes_reason,
         [](const Case& c) {
           return launched_slices(c.config) > 1 &&
                  partial_sums_bytes(c.query, workspace_layout(c.query, c.config).product) >
                      of_tiles::most_partial_bytes;
         }},
};

}  // namespace

std::optional<std::string> declines(const SpmmQuery& query) {
  if (auto reason = packed_operand_declined(query)) return reason;
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const UnpackWgmmaConfig& config) { return forbidden(query, config); });
}

bool admits_tile(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  const Case c = case_of(query, config);
  RuleCheck rule;
  tile_rules(rule, c.traits, config);
  return rule.broken == nullptr && first_broken(c, rules_of_tile) == nullptr;
}

bool admits_slicing(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  const Case c = case_of(query, config);
  RuleCheck rule;
  slicing_rules(rule, c.traits, config);
  return rule.broken == nullptr && first_broken(c, rules_of_slicing) == nullptr;
}

std::optional<std::string> forbidden(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  return to_reason(reason_against(case_of(query, config), rules_of_tile, rules_of_slicing));
}

}  // namespace vostok::ops::unpack_wgmma
