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

// The cost model, for ranking only. Fitted to masks on an H200 (bench/notes/fused_attention.md#gradients).

using attention_backward::WalkedTiles;

int resident_blocks(const AttentionBackwardQuery& query, const FusedBackwardTraits& t,
                    const FusedBackwardConfig& config) {
  const int registers = std::min(most_thread_registers, lane_registers(t, config) + other_registers);
  return std::max(1, multiprocessor_of(query.device, least_multiprocessor_of_sm_80)
                         .resident_blocks(threads(config), registers, shared_bytes(t, config)));
}

/// Elements of lines that a walk multiplies for a score: with own lines, and by weights for the block's part.
double multiplied(const FusedBackwardTraits& t, const FusedBackwardConfig& config, BackwardPart part) {
  const double both = t.key_size + t.value_size;
  switch (part) {
    case BackwardPart::rows: return both;
    case BackwardPart::by_query: return both + static_cast<double>(t.key_size) / config.column_parts;
    case BackwardPart::by_key: return both + both / config.column_parts;
  }
  return both;
}

/// Cycles of a block for a tile of f32: a warp waits for its own instructions, or shares a tensor core with others.
double cycles_of_terms(const FusedBackwardTraits& t, const FusedBackwardConfig& config, BackwardPart part,
                       int resident) {
  constexpr double own_cycles = 5.2;  // of a warp for one instruction on tensor cores
  const double instructions =
      fused_attention::products_of_terms(t) * tile_keys() / 8.0 / 16 * multiplied(t, config, part);
  const double between = t.terms == 2 ? 5200 : 4800;
  const double shared_cycles = t.terms == 2 ? 11.3 : 14;
  constexpr double partitions = 4;  // of an SM, with a tensor core each
  const double sharing = std::max(1.0, resident * config.warps / partitions);
  const double alone = resident == 1 ? 1.1 : 1;
  const double short_steps = config.step_keys == 16 ? 1.12 : 1;               // sums are added once a step
  const double few_lines = config.warps > 1 ? 1 : t.terms == 2 ? 1.15 : 1.4;  // for a tile that is copied
  constexpr double measured_over_model = 1.3;                                 // of random masks; 1 of a band
  return measured_over_model * alone * short_steps * few_lines *
         std::max(between + own_cycles * instructions, shared_cycles * instructions * sharing);
}

/// Of f32.
double work_of_terms(const AttentionBackwardQuery& query, const FusedBackwardTraits& t,
                     const FusedBackwardConfig& config, const WalkedTiles& tiles, double blocks_of_device) {
  const int resident = resident_blocks(query, t, config);
  const auto cycles = [&](BackwardPart part) { return cycles_of_terms(t, config, part, resident); };
  const double rows = attention_backward::has_row_statistics(query) ? 0 : tiles.by_query * cycles(BackwardPart::rows);
  return (rows + config.column_parts *
                     (tiles.by_query * cycles(BackwardPart::by_query) + tiles.by_key * cycles(BackwardPart::by_key))) /
         (blocks_of_device * resident);
}

/// Of 16 bits.
double work_of_elements(const AttentionBackwardQuery& query, const FusedBackwardTraits& t,
                        const FusedBackwardConfig& config, const WalkedTiles& tiles, double blocks_of_device) {
  constexpr double multiply_adds_per_cycle = 580;  // of an SM, with exponentials and reads of shared memory
  const double rows =
      attention_backward::has_row_statistics(query) ? 0 : tiles.by_query * multiplied(t, config, BackwardPart::rows);
  const double elements = rows + config.column_parts * (tiles.by_query * multiplied(t, config, BackwardPart::by_query) +
                                                        tiles.by_key * multiplied(t, config, BackwardPart::by_key));
  const double waits = (config.stages > 1 ? 1 : 1.25) * (config.column_parts > 1 ? 1.3 : 1);
  const double turns = 1 + 0.1 * config.min_blocks;
  return waits * elements * block_queries(config) * tile_keys() / (multiply_adds_per_cycle * blocks_of_device * turns);
}

double predict_us(const AttentionBackwardQuery& query, const FusedBackwardConfig& config) {
  constexpr double launches_us = 9;
  const FusedBackwardTraits t = traits(query, BackwardPart::by_key);
  const Machine machine = machine_of(query);
  const WalkedTiles tiles = attention_backward::walked_tiles(query, block_queries(config));
  const auto work = t.terms > 0 ? work_of_terms : work_of_elements;
  const double work_us = work(query, t, config, tiles, machine.multiprocessors) / machine.cycles_per_us;
  const double walks = 2 * config.column_parts + (attention_backward::has_row_statistics(query) ? 0 : 1);
  const double gathered_bytes_per_us = t.terms > 0 ? 6.5e6 : 3.5e6;
  const double gathered = walks / 2 * (tiles.by_query + tiles.by_key) * 2 * line_parts(t) * tile_keys() *
                          (t.key_size + t.value_size) / (gathered_bytes_per_us * machine.speed());
  return launches_us + std::max(work_us, gathered);
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
