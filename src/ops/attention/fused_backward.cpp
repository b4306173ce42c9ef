// fused_backward on the host: rules beside its kernels' (abi/fused_backward.h), its space and its cost model.
#include <algorithm>
#include <array>
#include <cmath>

#include <abi/fused_backward.h>

#include "ops/attention/backward.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"

namespace vostok::ops {

namespace fused_backward {

namespace {

using attention_backward::traits;

static_assert(codegen::lists_every_field<FusedBackwardConfig>(), "fields(FusedBackwardConfig) must name every member");

// Rules: what only the problem or the device knows.

using Case = ops::Case<AttentionBackwardQuery, FusedBackwardTraits, FusedBackwardConfig>;
using Rule = ops::Rule<Case>;

/// Registers of a thread for addresses, row statistics and fragments on their way.
constexpr int other_registers = 56;

/// Ordered so that each may rely on those before it, and all on the kernels'.
constexpr std::array rules = {
    attention_backward::lines_fit<Case, block_shared_bytes_of_sm_80>,
    Rule{"sums and scores do not fit a thread's registers",
         [](const Case& c) {
           return lane_registers(c.traits, c.config) + other_registers >
                  registers_of_thread(threads(c.config), c.config.min_blocks);
         }},
    attention_backward::blocks_fit<Case, least_multiprocessor_of_sm_80>,
    Rule{"min_blocks bounds no registers of f32, and 1 says the same",
         [](const Case& c) {
           return c.traits.terms > 0 && c.config.min_blocks > 1 &&
                  registers_of_thread(threads(c.config), c.config.min_blocks) >= most_thread_registers;
         }},
    Rule{"longer steps set registers aside where lines of two terms are wide",
         [](const Case& c) {
           return c.traits.terms == 2 && c.traits.key_size + c.traits.value_size > 256 && c.config.step_keys > 16;
         }},
    attention_backward::masks_have_tiles<Case>,
};

const char* reason(const AttentionBackwardQuery& query, const FusedBackwardConfig& config) {
  return reason_against(Case{query, traits(query, BackwardPart::by_key), config}, rules);
}

// The cost model, for ranking only: up to nine products of the forward pass's two, or what the kernels gather. Fitted
// to two masks on an H200 (bench/notes/fused_attention.md#gradients).

/// How fast an SM is by what takes turns on it. In f32 a warp waits for its own instructions most of the time, and
/// warps of a block for one another.
double speed_of_turns(const AttentionBackwardQuery& query, const FusedBackwardTraits& t,
                      const FusedBackwardConfig& config) {
  if (t.terms == 0) return 1 + 0.1 * config.min_blocks;
  const int registers = std::min(most_thread_registers, lane_registers(t, config) + other_registers);
  const int blocks = multiprocessor_of(query.device, least_multiprocessor_of_sm_80)
                         .resident_blocks(threads(config), registers, shared_bytes(t, config));
  return (blocks > 1 ? 1.0 : 0.8) * std::pow(std::max(1, blocks) * config.warps, 0.18);
}

double predict_us(const AttentionBackwardQuery& query, const FusedBackwardConfig& config) {
  constexpr double launches_us = 9;
  constexpr double multiply_adds_per_cycle = 580;  // of an SM, with exponentials and reads of shared memory
  const bool saved = attention_backward::has_row_statistics(query);
  // Of both sizes, for two walks: scores and gradients of probabilities in each part, and what is added up once.
  const double products = 2 * config.column_parts + 1.5 + (saved ? 0 : 1);
  const double walks = 2 * config.column_parts + (saved ? 0 : 1);
  const FusedBackwardTraits t = traits(query, BackwardPart::by_key);
  const Machine machine = machine_of(query);
  const double size = t.key_size + t.value_size;
  const double of_terms = t.terms == 0 ? 1 : t.terms == 1 ? 2.2 : 4.5;  // products, and what they have beside them
  const double waits = config.stages > 1 ? 1 : t.terms > 0 ? 1.03 : 1.25;
  const double short_steps = t.terms > 0 && config.step_keys == 16 ? 1.18 : 1;  // sums are added once a step
  const double gathered_bytes_per_us = t.terms > 0 ? 6.5e6 : 3.5e6;
  const attention_backward::WalkedTiles tiles = attention_backward::walked_tiles(query, block_queries(config));
  const double both = tiles.by_query + tiles.by_key;
  const double work =
      waits * short_steps * of_terms * products / 2 * both * block_queries(config) * tile_keys() * size /
      (multiply_adds_per_cycle * machine.multiprocessors * machine.cycles_per_us * speed_of_turns(query, t, config));
  const double gathered =
      walks / 2 * both * 2 * line_parts(t) * tile_keys() * size / (gathered_bytes_per_us * machine.speed());
  return launches_us + std::max(work, gathered);
}

// The space, as tables.

constexpr std::array warp_counts = {4, 8, 2, 1};
constexpr std::array step_sizes = {32, 64, 16};
constexpr std::array stage_counts = {2, 3, 1};
constexpr std::array part_counts = {1, 2};

template <class Visit>
void for_each_config(Visit visit) {
  for (const int warps : warp_counts)
    for (const int step_keys : step_sizes)
      for (const int stages : stage_counts)
        for (const int min_blocks : {2, 1, 3})
          for (const int column_parts : part_counts)
            visit(FusedBackwardConfig{.warps = warps,
                                      .step_keys = step_keys,
                                      .stages = stages,
                                      .min_blocks = min_blocks,
                                      .column_parts = column_parts});
}

}  // namespace
}  // namespace fused_backward

namespace {

struct FusedBackward : attention_backward::BackwardFamily<FusedBackward, FusedBackwardConfig> {
  static constexpr std::string_view name = "fused_backward";
  static constexpr const char* config_name = "FusedBackwardConfig";
  static constexpr const char* features = "";
  static constexpr const char* why_not_there = "mma of 16 x 8 x 16 and cp.async came with sm_80";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }

  static constexpr auto reason = fused_backward::reason;
  static constexpr auto predict_us = fused_backward::predict_us;
  static constexpr Config smallest_config = {.warps = 1, .step_keys = 16, .stages = 1};
  static constexpr std::size_t short_list_length = 8;
  static void for_each_config(const auto& visit) { fused_backward::for_each_config(visit); }
};

}  // namespace

std::unique_ptr<Family> make_fused_backward() { return family_of<FusedBackward>(); }

}  // namespace vostok::ops
