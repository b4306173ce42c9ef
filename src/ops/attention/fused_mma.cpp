// fused_mma on the host: the rules that it adds to its kernel's (abi/fused_mma.h), its space, its cost model and its
// launches.
#include <algorithm>
#include <array>

#include <abi/fused_mma.h>

#include "codegen/expression.hpp"
#include "ops/attention/fused.hpp"
#include "ops/config_list.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"

namespace vostok::ops {

namespace fused_mma {

namespace {

static_assert(codegen::lists_every_field<FusedMmaConfig>(), "fields(FusedMmaConfig) must name every member");

fused_attention::Cut cut_of(const FusedMmaConfig& config) {
  return {.block_queries = block_queries(config), .slices = config.slices};
}

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
    fused_attention::mask_has_tiles<Case>,
    fused_attention::slices_have_tiles<Case>,
    fused_attention::grid_holds_blocks<Case>,
    fused_attention::queries_fill_blocks<Case>,
};

std::optional<std::string> forbidden(const AttentionQuery& query, const FusedMmaConfig& config) {
  return to_reason(reason_against(case_of(query, config), rules));
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
  const double tensor = scores * (t.key_size + t.value_size) / multiply_adds_per_cycle;
  const double queries = c.keeps_queries ? 0 : as_double(block_queries(c)) * t.key_size * tile_keys() / c.step_keys;
  const double read = 2.0 * (c.warps * tile_keys() * as_double(t.key_size + t.value_size) + queries);
  const double softmax = scores * instructions_per_score / lanes_per_cycle;
  constexpr double measured_over_model = 1.6;  // 98 to 99.5 % zeros and the paper's mask, on an H200
  return measured_over_model * (std::max(tensor, read / shared_bytes_per_cycle) + softmax);
}

double predict_us(const AttentionQuery& query, const FusedMmaConfig& config) {
  constexpr double from_barrier_to_barrier = 1400;
  return fused_attention::predict_us(query, cut_of(config),
                                     {.resident = static_cast<double>(resident_blocks(query, config)),
                                      .tile_cycles = tile_cycles(fused_attention::traits(query), config),
                                      .least_cycles = from_barrier_to_barrier});
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

/// visit(config) for every combination of the tables.
template <class Visit>
void for_each_config(Visit visit) {
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

/// Every admitted combination, best first.
std::vector<FusedMmaConfig> admitted(const AttentionQuery& query) {
  std::vector<FusedMmaConfig> all;
  for_each_config([&](const FusedMmaConfig& config) { all.push_back(config); });
  return ranked(
      all, [&](const FusedMmaConfig& config) { return reason_against(case_of(query, config), rules) == nullptr; },
      [&](const FusedMmaConfig& config) { return predict_us(query, config); });
}

constexpr FusedMmaConfig smallest_config = {.warps = 1, .warp_strips = 1, .step_keys = 16};

Launch attend_launch(const AttentionQuery& query, const FusedMmaConfig& config, const TopologyPointers& topology) {
  const FusedAttentionTraits t = fused_attention::traits(query);
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  return Launch::of<AttentionArguments, FusedAttentionArgs>(
      {.family = "fused_mma",
       .header = "attention/fused_mma.h",
       .expression = codegen::name_expression("fused_mma", "FusedAttentionTraits", t, "FusedMmaConfig", config)},
      shape, fused_attention::binding(query, cut_of(config), topology));
}

}  // namespace
}  // namespace fused_mma

namespace {

struct FusedMma {
  using Query = AttentionQuery;
  using Config = FusedMmaConfig;
  static constexpr std::string_view name = "fused_mma";
  static constexpr const char* why_not_there = "mma of 16 x 8 x 16 and cp.async came with sm_80";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }

  static std::optional<std::string> declines(const Query& query) {
    if (auto reason = fused_attention::declines(query.attention(), query.statistics)) return reason;
    return nothing_admitted([] { return fused_mma::smallest_config; }, [&] { return default_config(query); },
                            [&](const Config& config) { return forbidden(query, config); });
  }
  static constexpr auto forbidden = fused_mma::forbidden;
  static constexpr auto predict_us = fused_mma::predict_us;

  static Config default_config(const Query& query) {
    const std::vector<Config> list = fused_mma::admitted(query);
    return list.empty() ? fused_mma::smallest_config : list.front();
  }
  static std::vector<Config> space(const Query& query) {
    std::vector<Config> list = {default_config(query)};
    fused_mma::for_each_config([&](const Config& config) { add_new(list, config); });
    return list;
  }
  static std::vector<Config> short_list(const Query& query) {
    constexpr std::size_t length = 12;
    std::vector<Config> list = {default_config(query)};
    for (const Config& candidate : fused_mma::admitted(query))
      if (list.size() < length) add_new(list, candidate);
    return list;
  }

  static TopologyNeeds needs(const Query& query, const Config& config) {
    return {.index = query.attention().index, .key_tile_queries = block_queries(config)};
  }
  static std::int64_t workspace_bytes(const Query& query, const Config& config) {
    return fused_attention::workspace_bytes(query, fused_mma::cut_of(config));
  }
  static std::vector<Launch> launches(const Query& query, const Config& config, const TopologyPointers& topology) {
    std::vector<Launch> list = {fused_mma::attend_launch(query, config, topology)};
    if (config.slices > 1) list.push_back(fused_attention::join_launch(query, fused_mma::cut_of(config), topology));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_fused_mma() { return family_of<FusedMma>(); }

}  // namespace vostok::ops
