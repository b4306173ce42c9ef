// fused_mma on the host: the rules that it adds to its kernel's (abi/fused_mma.h), its space, its cost model and its
// launches.
#include <algorithm>
#include <array>

#include <abi/fused_mma.h>

#include "ops/attention/fused_family.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"

namespace vostok::ops {

namespace fused_mma {

namespace {

static_assert(codegen::lists_every_field<FusedMmaConfig>(), "fields(FusedMmaConfig) must name every member");

// Rules: what only the problem or the device knows, and what cannot be fast.

using Case = ops::Case<AttentionQuery, FusedAttentionTraits, FusedMmaConfig>;
using Rule = ops::Rule<Case>;

Case case_of(const AttentionQuery& query, const FusedMmaConfig& config) {
  return {query, fused_attention::traits(query), config};
}

/// Registers of a thread for addresses, row statistics and fragments on their way.
constexpr int other_registers = 60;

int registers_needed(const FusedAttentionTraits& traits, const FusedMmaConfig& config) {
  return lane_registers(traits, config) + other_registers;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{"queries and stages do not fit a block's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_80);
         }},
    Rule{"sums and scores do not fit a thread's registers",
         [](const Case& c) {
           return registers_needed(c.traits, c.config) > registers_of_thread(threads(c.config), c.config.min_blocks);
         }},
    Rule{"a multiprocessor's shared memory or threads are fewer than min_blocks blocks have",
         [](const Case& c) {
           const Multiprocessor sm = multiprocessor_of(c.query.device, least_multiprocessor_of_sm_80);
           return c.config.min_blocks >
                  std::max(1, sm.resident_blocks(threads(c.config), 32, shared_bytes(c.traits, c.config)));
         }},
    Rule{"longer steps set registers aside where keys of two terms are wide",
         [](const Case& c) { return promotes(c.traits) && c.traits.key_size > 128 && c.config.step_keys > 16; }},
    fused_attention::mask_has_tiles<Case>,
    fused_attention::slices_have_tiles<Case>,
    fused_attention::grid_holds_blocks<Case>,
    fused_attention::queries_fill_blocks<Case>,
};

const char* reason(const AttentionQuery& query, const FusedMmaConfig& config) {
  return reason_against(case_of(query, config), rules);
}

// The cost model: cycles of an SM for a tile of a block, by its tensor cores, its shared memory and the exponentials.

double as_double(std::int64_t value) { return static_cast<double>(value); }

int resident_blocks(const AttentionQuery& query, const FusedMmaConfig& config) {
  const FusedAttentionTraits t = fused_attention::traits(query);
  const int registers = std::min(most_thread_registers, registers_needed(t, config));
  return std::max(1, multiprocessor_of(query.device, least_multiprocessor_of_sm_80)
                         .resident_blocks(threads(config), registers, shared_bytes(t, config)));
}

/// Cycles in which an SM does nothing but one tile of one block.
double tile_cycles(const FusedAttentionTraits& t, const FusedMmaConfig& c) {
  constexpr double multiply_adds_per_cycle = 1330;  // of mma.sync on sm_90, of all tensor cores
  constexpr double shared_bytes_per_cycle = 128;
  constexpr double instructions_per_score = 9, lanes_per_cycle = 128;
  const double scores = as_double(block_queries(c)) * tile_keys();
  const int products = fused_attention::products_of_terms(t);
  const double values = as_double(t.value_size) / c.column_parts;
  const double tensor = products * scores * (t.key_size + values) / multiply_adds_per_cycle;
  const double queries = c.keeps_queries ? 0 : as_double(block_queries(c)) * t.key_size * tile_keys() / c.step_keys;
  const double read = 2.0 * products * (c.warps * tile_keys() * (t.key_size + values) + queries);
  const double softmax = scores * instructions_per_score / lanes_per_cycle;
  constexpr double measured_over_model = 1.6;  // 98 to 99.5 % zeros and the paper's mask, on an H200
  const double waits = c.stages > 1 ? 1 : 1.25;
  return measured_over_model * waits * (std::max(tensor, read / shared_bytes_per_cycle) + softmax);
}

/// From a block's tile to its next. Of f32 a warp has many instructions, one behind the other; a stage that is alone is
/// waited for. Fitted to an H200 (bench/notes/attention_in_f32.md#forward).
double least_cycles(const FusedAttentionTraits& t, const FusedMmaConfig& c) {
  if (t.terms == 0) return 1400;
  constexpr double instruction_cycles = 9.5, step_cycles = 700, barrier_cycles = 200, intake_bytes_per_cycle = 33;
  const double instructions = fused_attention::products_of_terms(t) * tile_keys() / 8.0 / 16 *
                              (t.key_size + as_double(t.value_size) / c.column_parts);
  const double intake = c.stages == 1 ? attention_stage_bytes(t) / intake_bytes_per_cycle : 0;
  return barrier_cycles + intake +
         c.warp_strips * (instruction_cycles * instructions + step_cycles * tile_keys() / c.step_keys);
}

double predict_us(const AttentionQuery& query, const FusedMmaConfig& config) {
  const FusedAttentionTraits t = fused_attention::traits(query);
  return fused_attention::predict_us(query, fused_attention::cut_of(query, config),
                                     {.resident = static_cast<double>(resident_blocks(query, config)),
                                      .tile_cycles = tile_cycles(t, config),
                                      .least_cycles = least_cycles(t, config)});
}

// The space, as tables.

struct Shape {
  int warps;
  int warp_strips;
};

/// The more queries share a tile, the less is read; the fewer, the fewer keys they name.
constexpr std::array shapes = {Shape{4, 2}, Shape{8, 1}, Shape{4, 1}, Shape{8, 2},
                               Shape{2, 2}, Shape{2, 1}, Shape{1, 1}};
constexpr std::array step_sizes = {64, 32, 16};
constexpr std::array stage_counts = {2, 3};
constexpr std::array slice_counts = {1, 2, 4, 8, 16, 32, 64};

/// Of wide heads: sums of all columns, or two stages, may have no room.
constexpr std::array wide_shapes = {Shape{4, 1}, Shape{2, 1}, Shape{1, 1}};
constexpr std::array wide_step_sizes = {32, 16};

template <class Visit>
void for_each_wide_config(Visit visit) {
  for (const Shape& shape : wide_shapes)
    for (const int step_keys : wide_step_sizes)
      for (const int stages : {2, 1})
        for (const int column_parts : {1, 2})
          if (stages == 1 || column_parts > 1)
            visit(FusedMmaConfig{.warps = shape.warps,
                                 .warp_strips = shape.warp_strips,
                                 .step_keys = step_keys,
                                 .stages = stages,
                                 .column_parts = column_parts});
}

/// visit(config) for every combination of the tables, and those of wide heads.
template <class Visit>
void for_each_config(Visit visit) {
  for_each_wide_config(visit);
  for (const Shape& shape : shapes)
    for (const int step_keys : step_sizes)
      for (const int stages : stage_counts)
        for (const int slices : slice_counts)
          for (const bool keeps : {false, true})
            for (const int min_blocks : {1, 2, 3}) {
              visit(FusedMmaConfig{.warps = shape.warps,
                                   .warp_strips = shape.warp_strips,
                                   .step_keys = step_keys,
                                   .stages = stages,
                                   .slices = slices,
                                   .min_blocks = min_blocks,
                                   .keeps_queries = keeps});
            }
}

}  // namespace
}  // namespace fused_mma

namespace {

struct FusedMma : fused_attention::ForwardFamily<FusedMma, FusedMmaConfig> {
  static constexpr std::string_view name = "fused_mma";
  static constexpr const char* config_name = "FusedMmaConfig";
  static constexpr const char* features = "";
  static constexpr const char* why_not_there = "mma of 16 x 8 x 16 and cp.async came with sm_80";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }

  static constexpr auto reason = fused_mma::reason;
  static constexpr auto predict_us = fused_mma::predict_us;
  static constexpr Config smallest_config = {.warps = 1, .warp_strips = 1, .step_keys = 16, .stages = 1};
  static constexpr std::size_t short_list_length = 12;
  static void for_each_config(const auto& visit) { fused_mma::for_each_config(visit); }
};

}  // namespace

std::unique_ptr<Family> make_fused_mma() { return family_of<FusedMma>(); }

}  // namespace vostok::ops
