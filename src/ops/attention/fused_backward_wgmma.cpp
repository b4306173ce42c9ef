// fused_backward_wgmma on the host: rules beside its kernels' (abi/fused_backward_wgmma.h), its space and its cost
// model.
#include <algorithm>
#include <array>

#include <abi/fused_backward_wgmma.h>

#include "ops/attention/backward.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"

namespace vostok::ops {

namespace fused_backward_wgmma {

namespace {

using attention_backward::traits;

static_assert(codegen::lists_every_field<FusedBackwardWgmmaConfig>(),
              "fields(FusedBackwardWgmmaConfig) must name every member");

// Rules: what only the problem or the device knows.

using Case = ops::Case<AttentionBackwardQuery, FusedBackwardTraits, FusedBackwardWgmmaConfig>;
using Rule = ops::Rule<Case>;

/// Registers of a multiplying thread for descriptors, numbers of queries and counters.
constexpr int other_registers = 24;
/// The compiler gives an instruction no more registers than the launch does, whatever warpgroups exchange.
constexpr int registers_beside_list = 30;

/// Ordered so that each may rely on those before it, and all on the kernels'.
constexpr std::array rules = {
    attention_backward::lines_fit<Case, block_shared_bytes_of_sm_90>,
    Rule{"sums, scores and weights do not fit a thread's registers",
         [](const Case& c) {
           const int widest = multiplied_width(std::max(c.traits.key_size, c.traits.value_size));
           return lane_registers(c.traits, c.config) + other_registers > gained_registers(c.traits, c.config) ||
                  widest / 2 + registers_beside_list > launch_registers(c.config.groups, c.config.min_blocks);
         }},
    attention_backward::blocks_fit<Case, multiprocessor_of_sm_90>,
    attention_backward::masks_have_tiles<Case>,
};

const char* reason(const AttentionBackwardQuery& query, const FusedBackwardWgmmaConfig& config) {
  return reason_against(Case{query, traits(query, BackwardPart::by_key), config}, rules);
}

// The cost model, for ranking only: cycles of an SM for each score of each kernel, by its products and exponentials, or
// by what is gathered. Fitted to three masks on an H200 (bench/notes/fused_attention.md#gradients).

/// One kernel's, of all its tiles.
double walk_cycles(const FusedBackwardTraits& t, const FusedBackwardWgmmaConfig& c, double tiles, int products) {
  constexpr double multiply_adds_per_cycle = 2350, cycles_per_score = 0.155;
  constexpr double gathered_bytes_per_cycle = 26;
  // Warpgroups take turns at the tensor cores: one alone leaves them idle while it makes weights.
  const double alone = c.groups * c.min_blocks == 1 ? 1.5 : 1;
  const double size = (multiplied_width(t.key_size) + multiplied_width(t.value_size)) / 2.0;
  const double of_score = products * size / multiply_adds_per_cycle + cycles_per_score;
  const double work = alone * block_queries(c) * tile_keys() * of_score;
  return tiles * std::max(work, 2.0 * tile_keys() * (t.key_size + t.value_size) / gathered_bytes_per_cycle);
}

double predict_us(const AttentionBackwardQuery& query, const FusedBackwardWgmmaConfig& config) {
  constexpr double launches_us = 9;
  const FusedBackwardTraits t = traits(query, BackwardPart::by_key);
  const Machine machine = machine_of(query);
  const attention_backward::WalkedTiles tiles = attention_backward::walked_tiles(query, block_queries(config));
  double cycles = walk_cycles(t, config, tiles.by_query, 3) + walk_cycles(t, config, tiles.by_key, 4);
  if (!attention_backward::has_row_statistics(query)) cycles += walk_cycles(t, config, tiles.by_query, 2);
  return launches_us + cycles / (machine.multiprocessors * machine.cycles_per_us);
}

// The space, as tables.

constexpr std::array group_counts = {2, 1, 3};
constexpr std::array stage_counts = {3, 2, 4, 6};

template <class Visit>
void for_each_config(Visit visit) {
  for (const int groups : group_counts)
    for (const int stages : stage_counts)
      for (const int min_blocks : {1, 2, 3})
        visit(FusedBackwardWgmmaConfig{.groups = groups, .stages = stages, .min_blocks = min_blocks});
}

}  // namespace
}  // namespace fused_backward_wgmma

namespace {

struct FusedBackwardWgmma : attention_backward::BackwardFamily<FusedBackwardWgmma, FusedBackwardWgmmaConfig> {
  static constexpr std::string_view name = "fused_backward_wgmma";
  static constexpr const char* config_name = "FusedBackwardWgmmaConfig";
  static constexpr const char* features = "a";
  static constexpr const char* why_not_there = "wgmma is an instruction of sm_90a alone";
  static bool runs_on(std::string_view architecture) { return architecture == "sm_90"; }
  static std::optional<std::string> declines_element(Dtype element) {
    if (size_of(element) != 2) return "elements have 16 bits";
    return std::nullopt;
  }

  static constexpr auto reason = fused_backward_wgmma::reason;
  static constexpr auto predict_us = fused_backward_wgmma::predict_us;
  static constexpr Config smallest_config = {.groups = 1, .stages = 2};
  static constexpr std::size_t short_list_length = 8;
  static void for_each_config(const auto& visit) { fused_backward_wgmma::for_each_config(visit); }
};

}  // namespace

std::unique_ptr<Family> make_fused_backward_wgmma() { return family_of<FusedBackwardWgmma>(); }

}  // namespace vostok::ops
