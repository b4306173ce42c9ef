// fused_wgmma on the host: the rules that it adds to its kernel's (abi/fused_wgmma.h), its space, its cost model and
// its launches.
#include <algorithm>
#include <array>

#include <abi/fused_wgmma.h>

#include "ops/attention/fused_family.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"

namespace vostok::ops {

namespace fused_wgmma {

namespace {

static_assert(codegen::lists_every_field<FusedWgmmaConfig>(), "fields(FusedWgmmaConfig) must name every member");

// Rules: what only the problem or the device knows, and what cannot be fast.

using Case = ops::Case<AttentionQuery, FusedAttentionTraits, FusedWgmmaConfig>;
using Rule = ops::Rule<Case>;

Case case_of(const AttentionQuery& query, const FusedWgmmaConfig& config) {
  return {query, fused_attention::traits(query), config};
}

/// Registers of a multiplying thread for descriptors, row statistics and counters.
constexpr int other_registers = 32;
/// The compiler gives an instruction no more registers than the launch does, whatever warpgroups exchange.
constexpr int registers_beside_list = 30;

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{"queries, stages and biases do not fit a block's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_90);
         }},
    Rule{"sums, scores and probabilities do not fit a thread's registers",
         [](const Case& c) {
           return lane_registers(c.traits, c.config) + other_registers > gained_registers(c.config) ||
                  std::max(value_width(c.traits), step_keys(c.config)) / 2 + registers_beside_list >
                      launch_registers(c.config);
         }},
    Rule{"a multiprocessor's shared memory or threads are fewer than min_blocks blocks have",
         [](const Case& c) {
           const Multiprocessor sm = multiprocessor_of(c.query.device, multiprocessor_of_sm_90);
           return c.config.min_blocks >
                  std::max(1, sm.resident_blocks(threads(c.config), 32, shared_bytes(c.traits, c.config)));
         }},
    fused_attention::mask_has_tiles<Case>,
    fused_attention::slices_have_tiles<Case>,
    fused_attention::grid_holds_blocks<Case>,
    fused_attention::queries_fill_blocks<Case>,
};

const char* reason(const AttentionQuery& query, const FusedWgmmaConfig& config) {
  return reason_against(case_of(query, config), rules);
}

// The cost model: cycles of an SM for a tile of a block, by its products and exponentials, and by what is gathered.
// Fitted to 15 medians of an H200 at masks of 98 to 99.5 % zeros, which it meets within 3 % (root mean square,
// bench/notes/fused_attention.md#tiles-that-warpgroups-skip).

double tile_cycles(const FusedAttentionTraits& t, const FusedWgmmaConfig& c) {
  constexpr double multiply_adds_per_cycle = 3060;  // beside exponentials
  constexpr double cycles_per_score = 0.186;
  constexpr double longer_steps = 0.83, more_warpgroups = 0.87;  // hide more of each other
  const double scores = static_cast<double>(block_queries(c)) * tile_keys();
  const double multiply_adds = fused_attention::products_of_terms(t) * static_cast<double>(t.key_size + value_width(t));
  return fused_attention::term_factors(t).wgmma_scores * scores *
         (multiply_adds / multiply_adds_per_cycle + cycles_per_score) * (c.step_tiles > 1 ? longer_steps : 1) *
         (c.groups * c.min_blocks > 2 ? more_warpgroups : 1);
}

/// What a tile takes where values have barriers of their own, in 16 bits: long lines' next keys come sooner, if
/// anything waits for them; else the barriers cost more. Eight medians of the same H200, each within 1 %.
double apart_factor(const FusedAttentionTraits& t, const FusedWgmmaConfig& c) {
  if (!c.values_apart || t.terms == 2) return 1;  // two terms are always apart
  const bool waits = value_width(t) > 64 && c.keeps_queries && c.step_tiles == 1 && !c.persistent;
  return waits ? 0.97 : 1.027;
}

double predict_us(const AttentionQuery& query, const FusedWgmmaConfig& config) {
  constexpr double gathered_per_cycle = 29.5, gathered_by_warpgroup = 21.5;  // bytes
  // Of one warpgroup: products, exponentials, barriers. What is waited for is shared by the tiles of a step.
  const double from_tile_to_tile = 900 + 500.0 / config.step_tiles;
  const FusedAttentionTraits t = fused_attention::traits(query);
  const double tile_bytes = 2.0 * line_parts(t) * tile_keys() * (t.key_size + t.value_size);
  const bool loads_ahead = config.persistent && !config.skips_tiles;  // blocks that skip gained nothing by staying
  return fused_attention::predict_us(query, fused_attention::cut_of(query, config),
                                     {.resident = static_cast<double>(config.min_blocks),
                                      .tile_cycles = tile_cycles(t, config),
                                      .least_cycles = from_tile_to_tile,
                                      .start_cycles = loads_ahead ? 1000.0 : 4000.0,
                                      .shared_cycles = tile_bytes / gathered_per_cycle,
                                      .copied_cycles = tile_bytes / gathered_by_warpgroup,
                                      .tile_factor = apart_factor(t, config)});
}

// The space, as tables.

constexpr std::array group_counts = {2, 3, 1};
constexpr std::array stage_counts = {3, 2, 4, 6};
constexpr std::array step_sizes = {2, 1};
constexpr std::array slice_counts = {1, 2, 4, 8, 16, 32, 64};
/// Where warpgroups skip tiles: then they are a ring's length apart at most.
constexpr std::array skipping_stage_counts = {6, 5, 4, 3, 8};
constexpr std::array skipping_slice_counts = {1, 2, 4};

/// visit(config) for every combination of the tables.
template <class Visit>
void for_each_config(Visit visit) {
  for (const int groups : group_counts)
    for (const int stages : stage_counts)
      for (const int slices : slice_counts)
        for (const int step_tiles : step_sizes)
          for (const int min_blocks : {1, 2, 3})
            for (const bool keeps : {false, true})
              for (const bool persistent : {false, true})
                for (const bool apart : {false, true})
                  visit(FusedWgmmaConfig{.groups = groups,
                                         .stages = stages,
                                         .step_tiles = step_tiles,
                                         .slices = slices,
                                         .min_blocks = min_blocks,
                                         .keeps_queries = keeps,
                                         .persistent = persistent,
                                         .values_apart = apart});
  for (const int groups : {2, 3})
    for (const int stages : skipping_stage_counts)
      for (const int slices : skipping_slice_counts)
        for (const int min_blocks : {1, 2})
          for (const bool persistent : {false, true})
            for (const bool apart : {false, true})
              visit(FusedWgmmaConfig{.groups = groups,
                                     .stages = stages,
                                     .slices = slices,
                                     .min_blocks = min_blocks,
                                     .persistent = persistent,
                                     .skips_tiles = true,
                                     .values_apart = apart});
}

}  // namespace
}  // namespace fused_wgmma

namespace {

struct FusedWgmma : fused_attention::ForwardFamily<FusedWgmma, FusedWgmmaConfig> {
  static constexpr std::string_view name = "fused_wgmma";
  static constexpr const char* config_name = "FusedWgmmaConfig";
  static constexpr const char* features = "a";
  static constexpr const char* why_not_there = "wgmma is an instruction of sm_90a alone";
  static bool runs_on(std::string_view architecture) { return architecture == "sm_90"; }

  static constexpr auto reason = fused_wgmma::reason;
  static constexpr auto predict_us = fused_wgmma::predict_us;
  static constexpr Config smallest_config = {.groups = 1, .stages = 2, .values_apart = true};
  static constexpr std::size_t short_list_length = 16;
  static void for_each_config(const auto& visit) { fused_wgmma::for_each_config(visit); }

  /// The best of each shape: what else differs, stages, slices and barriers, the model tells apart.
  static std::vector<Config> short_list(const Query& query) {
    const std::vector<Config> all = admitted(query);
    std::vector<Config> list = {all.empty() ? smallest_config : all.front()};
    const auto same_shape = [](const Config& a, const Config& b) {
      return a.groups == b.groups && a.step_tiles == b.step_tiles && a.min_blocks == b.min_blocks &&
             a.keeps_queries == b.keeps_queries && a.persistent == b.persistent && a.skips_tiles == b.skips_tiles;
    };
    for (const Config& candidate : all)
      if (list.size() < short_list_length &&
          std::none_of(list.begin(), list.end(), [&](const Config& listed) { return same_shape(listed, candidate); }))
        list.push_back(candidate);
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_fused_wgmma() { return family_of<FusedWgmma>(); }

}  // namespace vostok::ops
