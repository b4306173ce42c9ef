// sparse_tensor_wgmma on the host: the rules that it adds to its kernel's (abi/sparse_tensor_wgmma.h), its cost model,
// its space and its launches.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <abi/sparse_tensor_wgmma.h>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/config_list.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/output_stores.hpp"
#include "ops/spmm/sparse_tensor.hpp"
#include "ops/spmm/stage_ring.hpp"
#include "ops/spmm/tile_rules.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops {

namespace sparse_tensor_wgmma {

namespace {

static_assert(codegen::lists_every_field<SparseTensorWgmmaConfig>(),
              "fields(SparseTensorWgmmaConfig) must name every member");

sparse_tensor::Workspace workspace(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return sparse_tensor::workspace(query,
                                  {.tile_rows = tile_rows(config),
                                   .tile_columns = config.tile_columns,
                                   .k_split = config.k_split,
                                   .cluster_sums = config.cluster_sums,
                                   .stream_output = config.stream_output,
                                   .most_blocks = config.persistent ? filling_blocks(query, config.min_blocks) : 0});
}

// Rules: what only the problem or the device knows, and what cannot be fast.

using Case = ops::Case<SpmmQuery, SparseTensorTraits, SparseTensorWgmmaConfig>;
using Rule = ops::Rule<Case>;

Case case_of(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return {query, sparse_tensor::traits(query, launched_slices(config)), config};
}

/// Of a multiplying thread, for sums, two strips and addresses.
int registers_needed(const SparseTensorWgmmaConfig& c) {
  constexpr int strips = 2 * (sparse_steps() * sparse_most_passes() * (sparse_registers() + 1) + 1);
  constexpr int addresses = 34;
  return c.tile_columns / 2 + strips + addresses;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{lacks_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && lacks_tensor_maps(c.query); }},
    Rule{past_tensor_maps_reason, [](const Case& c) { return c.config.tensor_copies && is_past_tensor_maps(c.query); }},
    of_warpgroups::threads_fit<Case>,
    Rule{"sums and fragments do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_needed(c.config) > of_warpgroups::register_limit(c.config); }},
    of_warpgroups::operands_fit<Case>,
    of_tiles::every_slice_has_blocks<Case>,
    Rule{exceeds_clusters_reason,
         [](const Case& c) {
           return exceeds_clusters({c.config.k_split, c.config.cluster_sums}, c.query.problem.batch);
         }},
    of_tiles::grid_holds_tiles<Case>,
    of_tiles::grid_holds_slices<Case>,
    of_warpgroups::stages_fit<Case>,
    of_tiles::columns_are_filled<Case, 64>,
    Rule{"half of the tile's rows, of more than 64, would lie past the last one",
         [](const Case& c) { return c.config.warpgroups > 1 && tile_rows(c.config) >= 2 * c.query.statistics.rows; }},
    Rule{of_tiles::partial_bytes_reason,
         [](const Case& c) {
           return launched_slices(c.config) > 1 &&
                  partial_sums_bytes(c.query, workspace(c.query, c.config).product) > of_tiles::most_partial_bytes;
         }},
};

std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return to_reason(reason_against(case_of(query, config), rules));
}

// The cost model: what a k block costs each resource of a multiprocessor, how many there are one after the other, and
// the launches around. Constants stand for an H200, fitted to what 101 problems of 16-bit elements took there
// (bench/notes/cost_models.md#clusters-and-products-of-16-bits).

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// Cycles of one block's k block on each resource, and of its longest chain of dependent instructions.
struct BlockCycles {
  double tensor;
  double issue;
  double memory;
  double chain;
};

BlockCycles cycles_of(const SpmmQuery& query, const SparseTensorWgmmaConfig& c) {
  constexpr double cycles_of_columns =
      0.79;  // of a 64 x 32 multiplication, for each column: reading B from shared memory
  constexpr double load_instructions = 45;
  constexpr double copy_instructions = 7;
  constexpr double barrier_latency = 75;
  constexpr double unstaged_latency = 860;  // of a pass that does not fit its stage: the tile waits for global memory
  constexpr double memory_bytes_per_cycle = 22;  // an SM's share of the memory bandwidth
  const double l2_bytes_per_cycle = copies_by_threads(c) ? 31 : 46;
  const double passes =
      sparse_steps() * sparse_tensor::expected_passes(query, packed_strip_rows() * sparse_tile_strips());
  const double multiplications = passes * c.tile_columns * cycles_of_columns;
  const double copies = copies_by_threads(c) ? c.tile_columns * split_line_bytes() / 16.0 : 0;
  const double strips = tile_strips(c) * sparse_tensor::expected_strip_bytes(query);
  const double memory = c.tile_columns * split_line_bytes() / l2_bytes_per_cycle +
                        strips / (query.policy == Policy::cold ? memory_bytes_per_cycle : l2_bytes_per_cycle);
  const double unstaged = std::max(0.0, passes - c.strip_passes);
  const double chain = multiplications + barrier_latency + unstaged * unstaged_latency;
  const double ring = ring_cycles(chain, refill_latency(c.tile_columns, 1), memory, c.stages,
                                  as_double(sparse_tensor::slice_blocks(query, c.k_split)));
  return {.tensor = c.warpgroups * multiplications,
          .issue = c.warpgroups * (load_instructions + passes * 14) + copies / 32 * copy_instructions / 4,
          .memory = memory,
          .chain = std::max(chain, ring)};
}

/// Cycles of a k block with `blocks` resident blocks on the SM.
double shared_cycles(const BlockCycles& block, int blocks) {
  constexpr double overlap_loss = 0.05;  // resources never overlap perfectly
  const double tensor = blocks * block.tensor;
  const double issue = blocks * block.issue;
  const double memory = blocks * block.memory;
  const double longest = std::max({tensor, issue, memory, block.chain});
  return longest + overlap_loss * (tensor + issue + memory + block.chain - longest);
}

double predict_us(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  constexpr double launch_us = 1.25;
  constexpr double start_cycles = 1600;  // barriers, the first copies
  const Machine machine = machine_of(query);
  const TopologyStatistics& s = query.statistics;
  const double n = as_double(std::max<std::int64_t>(query.n.most, 1));
  const double batch = as_double(query.problem.batch);
  const double blocks =
      as_double(ceil_div(s.rows, tile_rows(config))) * std::ceil(n / config.tile_columns) * config.k_split * batch;
  const double multiprocessors = machine.clustered_multiprocessors(tile_parts(config).blocks);
  const double resident = multiprocessors * config.min_blocks;
  const double full_waves = std::floor(blocks / resident);
  const double rest = blocks - full_waves * resident;
  const BlockCycles block = cycles_of(query, config);
  constexpr double cluster_cycles = 1350;  // two barriers, and exchange of sums between SMs
  const TileParts parts = tile_parts(config);
  const double exchange_cycles = parts.blocks == 1 ? 0 : cluster_cycles + parts.bytes() / 28.0;
  const double store_cycles =
      350 + exchange_cycles + tile_rows(config) * config.tile_columns / stored_per_cycle(query) / parts.blocks;
  const double steps = as_double(sparse_tensor::slice_blocks(query, config.k_split));
  const auto wave_cycles = [&](int together) {
    return steps * shared_cycles(block, together) + start_cycles + store_cycles * together;
  };
  const auto persistent_cycles = [&] {
    // What the next tile's operands take is hidden by the stores of the one before.
    BlockCycles without_copies = block;
    without_copies.memory = 0;
    const double own = steps * shared_cycles(without_copies, config.min_blocks) + store_cycles * config.min_blocks;
    return start_cycles + std::ceil(blocks / resident) * std::max(own, steps * block.memory * config.min_blocks);
  };
  double cycles = full_waves * wave_cycles(config.min_blocks);
  if (rest > 0) cycles += wave_cycles(static_cast<int>(std::ceil(rest / multiprocessors)));
  if (config.persistent) cycles = persistent_cycles();
  const double packed = as_double(ceil_div(s.rows, packed_strip_rows()) * sparse_tensor::k_blocks(query)) *
                        sparse_tensor::expected_strip_bytes(query);
  const double output = as_double(s.rows) * n * size_of(query.problem.output.value_or(query.problem.element)) * batch;
  const double from_memory_us = (packed * as_double(packed_sets(query)) + as_double(s.cols) * n * 2 * batch + output) /
                                machine.memory_bytes_per_us;
  return without_overlap(query, 1.05) * (launch_us + std::max(cycles / machine.cycles_per_us, from_memory_us)) +
         sparse_tensor::other_launches_us(query, workspace(query, config).product, crowds_packing(blocks, resident)) -
         hidden_start_us(query, blocks, resident, 0.7);
}

// The space, as tables.

/// A block's part of C, and the resident blocks of an SM.
struct Shape {
  int warpgroups;
  int tile_columns;
  int min_blocks;
};

constexpr std::array shapes = {Shape{2, 256, 1}, Shape{2, 128, 1}, Shape{1, 128, 2}, Shape{1, 256, 1},
                               Shape{1, 128, 1}, Shape{2, 64, 1},  Shape{1, 64, 2},  Shape{1, 64, 1}};
/// Passes of a strip for which stages have room: all of them, or those of strips in which few nonzeros share four
/// columns.
constexpr std::array pass_rooms = {sparse_steps() * sparse_most_passes(), 3};
constexpr std::array slicings = {Slicing{1, false}, Slicing{2, true},  Slicing{3, true},
                                 Slicing{4, true},  Slicing{4, false}, Slicing{8, false}};

/// Whether the copy engine copies B, the likely better first.
std::vector<bool> tensor_copies(const SpmmQuery& query) {
  if (lacks_tensor_maps(query) || is_past_tensor_maps(query)) return {false};
  return {true, false};
}

/// As many stages as fit with this many resident blocks on an SM, up to six.
int stages_that_fit(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  constexpr int most_stages = 6;
  SparseTensorWgmmaConfig one = config;
  one.stages = 1;
  const std::int64_t stage = shared_bytes(sparse_tensor::traits(query, launched_slices(config)), one);
  const int of_block =
      multiprocessor_of(query.device, multiprocessor_of_sm_90).shared_bytes / config.min_blocks - reserved_shared_bytes;
  return static_cast<int>(std::clamp<std::int64_t>(
      std::min(most_shared_bytes(query.device, block_shared_bytes_of_sm_90), of_block) / stage, 2, most_stages));
}

SparseTensorWgmmaConfig config_of(const SpmmQuery& query, const Shape& shape, int strip_passes, const Slicing& slicing,
                                  bool tensor_copies) {
  SparseTensorWgmmaConfig config = {.warpgroups = shape.warpgroups,
                                    .tile_columns = shape.tile_columns,
                                    .strip_passes = strip_passes,
                                    .k_split = slicing.k_split,
                                    .producer_warps = tensor_copies && shape.warpgroups == 1 ? 1 : 4,
                                    .min_blocks = shape.min_blocks,
                                    .stream_output = streams_output(query),
                                    .tensor_copies = tensor_copies,
                                    .cluster_sums = slicing.cluster_sums};
  config.stages = stages_that_fit(query, config);
  return config;
}

/// visit(config) for every combination of the tables except raster_rows.
template <class Visit>
void for_each_config(const SpmmQuery& query, Visit visit) {
  for (const Shape& shape : shapes)
    for (const int strip_passes : pass_rooms)
      for (const Slicing& slicing : slicings)
        for (const bool by_map : tensor_copies(query)) {
          SparseTensorWgmmaConfig config = config_of(query, shape, strip_passes, slicing, by_map);
          visit(config);
          config.persistent = by_map && config.k_split == 1 &&
                              shares_tiles(query, tile_rows(config), config.tile_columns, config.min_blocks);
          if (config.persistent) visit(config);
        }
}

/// Every admitted combination, best first.
std::vector<SparseTensorWgmmaConfig> admitted(const SpmmQuery& query) {
  std::vector<SparseTensorWgmmaConfig> all;
  for_each_config(query, [&](const SparseTensorWgmmaConfig& config) { all.push_back(config); });
  return ranked(
      all,
      [&](const SparseTensorWgmmaConfig& config) { return reason_against(case_of(query, config), rules) == nullptr; },
      [&](const SparseTensorWgmmaConfig& config) { return predict_us(query, config); });
}

bool is_same_tile(const SparseTensorWgmmaConfig& a, const SparseTensorWgmmaConfig& b) {
  return a.warpgroups == b.warpgroups && a.tile_columns == b.tile_columns && a.min_blocks == b.min_blocks;
}

SparseTensorWgmmaConfig smallest_config(const SpmmQuery& query) {
  return config_of(query, shapes.back(), pass_rooms.back(), slicings.front(), false);
}

Launch multiply_launch(const SpmmQuery& query, const SparseTensorWgmmaConfig& config,
                       const TopologyPointers& topology) {
  const SparseTensorTraits t = sparse_tensor::traits(query, launched_slices(config));
  codegen::KernelRequest request = {.family = "sparse_tensor_wgmma",
                                    .header = "spmm/sparse_tensor_wgmma.h",
                                    .expression = codegen::name_expression("sparse_tensor_wgmma", "SparseTensorTraits",
                                                                           t, "SparseTensorWgmmaConfig", config),
                                    .features = "a"};
  const device::LaunchShape shape = {.grid = {},
                                     .block = {static_cast<unsigned>(threads(config))},
                                     .shared_bytes = shared_bytes(t, config),
                                     .cluster = static_cast<unsigned>(tile_parts(config).blocks)};
  const DenseBoxes boxes = {.layout = t.dense_layout, .element = t.element, .tile_columns = config.tile_columns};
  return launch_maybe_mapped<SparseTensorArgs>(
      std::move(request), shape, sparse_tensor::binding(query, workspace(query, config).product, topology),
      config.tensor_copies, boxes);
}

}  // namespace
}  // namespace sparse_tensor_wgmma

namespace {

struct SparseTensorWgmma {
  using Query = SpmmQuery;
  using Config = SparseTensorWgmmaConfig;
  static constexpr std::string_view name = "sparse_tensor_wgmma";
  static constexpr const char* why_not_there = "wgmma is an instruction of sm_90a alone";
  static bool runs_on(std::string_view architecture) { return architecture == "sm_90"; }

  static std::optional<std::string> declines(const Query& query) {
    constexpr std::int64_t least_n = 33;
    if (auto reason = sparse_tensor::declines(query)) return reason;
    if (query.n.most < least_n) return "n is 32 or less: a warpgroup's least tile of 64 columns would be half empty";
    return nothing_admitted([&] { return sparse_tensor_wgmma::smallest_config(query); },
                            [&] { return default_config(query); },
                            [&](const Config& config) { return forbidden(query, config); });
  }
  static constexpr auto forbidden = sparse_tensor_wgmma::forbidden;
  static constexpr auto predict_us = sparse_tensor_wgmma::predict_us;

  static Config default_config(const Query& query) {
    const std::vector<Config> list = sparse_tensor_wgmma::admitted(query);
    return list.empty() ? sparse_tensor_wgmma::smallest_config(query) : list.front();
  }
  static std::vector<Config> space(const Query& query) {
    std::vector<Config> list = {default_config(query)};
    sparse_tensor_wgmma::for_each_config(query, [&](Config config) {
      for (const int raster_rows : {8, 4, 16, 32}) {
        config.raster_rows = raster_rows;
        add_new(list, config);
      }
    });
    return list;
  }
  static std::vector<Config> short_list(const Query& query) {
    constexpr std::size_t length = 12;
    constexpr int few = 5;
    std::vector<Config> list = {default_config(query)};
    for (const Config& candidate : sparse_tensor_wgmma::admitted(query)) {
      if (list.size() == length) break;
      // Measured with 137 configs of five problems: threads that copy B are 2 % faster than the copy engine at best,
      // and up to 42 % slower.
      if (candidate.tensor_copies != list.front().tensor_copies) continue;
      // Slicings of the likely best tile would crowd out other tiles.
      const auto same = [&](const Config& c) { return sparse_tensor_wgmma::is_same_tile(c, candidate); };
      if (std::count_if(list.begin(), list.end(), same) >= few) continue;
      add_new(list, candidate);
      // The model is least sure of how tiles share what they read.
      Config other = candidate;
      other.raster_rows = 16;
      if (list.size() < length) add_new(list, other);
    }
    return list;
  }

  static TopologyNeeds needs(const Query& query, const Config&) { return sparse_tensor::needs(query); }
  static std::string packed_format(const Query& query, const Config&) { return sparse_format(query.problem.element); }
  static std::int64_t workspace_bytes(const Query& query, const Config& config) {
    return sparse_tensor_wgmma::workspace(query, config).bytes;
  }
  static std::vector<Launch> launches(const Query& query, const Config& config, const TopologyPointers& topology) {
    return sparse_tensor::launches(query, sparse_tensor_wgmma::workspace(query, config).product,
                                   sparse_tensor_wgmma::multiply_launch(query, config, topology), topology);
  }
};

}  // namespace

std::unique_ptr<Family> make_sparse_tensor_wgmma() { return family_of<SparseTensorWgmma>(); }

}  // namespace vostok::ops
