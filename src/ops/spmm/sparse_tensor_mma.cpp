// sparse_tensor_mma on the host: the rules that it adds to its kernel's (abi/sparse_tensor_mma.h), its space, its cost
// model and its launches.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include <abi/sparse_tensor_mma.h>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/config_list.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/sparse_tensor.hpp"
#include "ops/spmm/tile_rules.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops {

namespace sparse_tensor_mma {

namespace {

static_assert(codegen::lists_every_field<SparseTensorMmaConfig>(),
              "fields(SparseTensorMmaConfig) must name every member");

sparse_tensor::Workspace workspace(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return sparse_tensor::workspace(query, {.tile_rows = tile_rows(config),
                                          .tile_columns = tile_columns(config),
                                          .k_split = config.k_split,
                                          .stream_output = config.stream_output});
}

// Rules: what only the problem or the device knows, and what cannot be fast.

using Case = ops::Case<SpmmQuery, SparseTensorTraits, SparseTensorMmaConfig>;
using Rule = ops::Rule<Case>;

Case case_of(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return {query, sparse_tensor::traits(query, config.k_split), config};
}

/// Lower bound on a thread's registers for sums and fragments; addresses and counters need some more.
int registers_needed(const SparseTensorMmaConfig& c) {
  const int fragments = 5 * c.warp_strips + (c.warp_columns >= 16 ? 16 : 8);
  const int strips = 3 * c.warp_strips;
  constexpr int addresses = 44;
  return lane_sums(c) + fragments + strips + addresses;
}

constexpr int most_registers = 240;

/// Resident blocks of this config on an SM, by shared memory, threads and an estimate of the registers.
int resident_blocks(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  const int registers = std::min(registers_needed(config), most_registers);
  return multiprocessor_of(query.device, least_multiprocessor_of_sm_80)
      .resident_blocks(threads(config), registers, shared_bytes(sparse_tensor::traits(query, config.k_split), config));
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    of_tiles::every_slice_has_blocks<Case>,
    of_tiles::grid_holds_tiles<Case>,
    of_tiles::grid_holds_slices<Case>,
    of_tiles::stages_fit<Case>,
    Rule{"sums and fragments do not fit a thread's registers",
         [](const Case& c) { return registers_needed(c.config) > most_registers; }},
    Rule{"a multiprocessor's shared memory, threads or registers are fewer than min_blocks blocks have",
         [](const Case& c) { return c.config.min_blocks > std::max(1, resident_blocks(c.query, c.config)); }},
    Rule{"a multiprocessor's registers are fewer than one block has",
         [](const Case& c) { return threads(c.config) * registers_needed(c.config) > multiprocessor_registers(); }},
    of_tiles::columns_are_filled<Case>,
    of_tiles::strips_are_filled<Case>,
    Rule{of_tiles::partial_bytes_reason,
         [](const Case& c) {
           return c.config.k_split > 1 &&
                  partial_sums_bytes(c.query, workspace(c.query, c.config).product) > of_tiles::most_partial_bytes;
         }},
};

std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return to_reason(reason_against(case_of(query, config), rules));
}

// The cost model, for ranking only: cycles of a k block on the tensor cores, the issue slots and the shared memory of
// an SM, the memory that all read, and the launches. Constants are instruction counts and an H200's rates; they were
// not fitted.

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// Cycles of an SM for one k block of one tile.
double block_cycles(const SpmmQuery& query, const SparseTensorMmaConfig& c) {
  constexpr double cycles_of_multiplication = 8.1;  // of one of four tensor cores
  constexpr double shared_bytes_per_cycle = 128;
  const double warps = threads(c) / 32.0;
  const double octets = c.warp_columns / 8.0;
  const double passes = sparse_steps() * sparse_tensor::expected_passes(query, packed_strip_rows());  // of a strip
  const double second_passes = std::max(0.0, passes - sparse_steps());
  const double multiplications = c.warp_strips * octets * passes;
  // The first pass of all strips shares B's fragments; a second pass reads its own.
  const double dense_reads = octets * (sparse_steps() + c.warp_strips * second_passes);
  const double tensor = warps * multiplications * cycles_of_multiplication / 4;
  constexpr double loop = 60;
  const double copies =
      (dense_stage_bytes(c) + tile_strips(c) * sparse_tensor::expected_strip_bytes(query)) / 16 / threads(c) * 5;
  const double issue = warps * (multiplications + dense_reads + c.warp_strips * passes * 5 + copies + loop) / 4;
  const double read = warps * (dense_reads * 512 + c.warp_strips * passes * sparse_pass_bytes());
  const double written = dense_stage_bytes(c) + tile_strips(c) * sparse_tensor::expected_strip_bytes(query);
  const double shared = (read + written) / shared_bytes_per_cycle;
  const double longest = std::max({tensor, issue, shared});
  return longest + 0.25 * (tensor + issue + shared - longest);
}

/// Lower bound on the cycles between two k blocks of one tile: the latency of a copy, divided by the stages in
/// flight, and what follows it.
double latency_cycles(const SparseTensorMmaConfig& c) { return 900.0 / (c.stages - 1) + 300; }

double memory_us(const SpmmQuery& query, const SparseTensorMmaConfig& c, const Machine& machine) {
  const TopologyStatistics& s = query.statistics;
  const double n = as_double(std::max<std::int64_t>(query.n.most, 1));
  const double batch = as_double(query.problem.batch);
  const double row_tiles = as_double(ceil_div(s.rows, tile_rows(c)));
  const double column_tiles = std::ceil(n / tile_columns(c));
  const double packed = as_double(ceil_div(s.rows, packed_strip_rows()) * sparse_tensor::k_blocks(query)) *
                        sparse_tensor::expected_strip_bytes(query);
  const double dense = as_double(s.cols) * n * 2 * batch;
  const double output = as_double(s.rows) * n * size_of(query.problem.output.value_or(query.problem.element)) * batch;
  const double from_memory = (packed * as_double(packed_sets(query)) + dense + output) / machine.memory_bytes_per_us;
  const double l2_bytes_per_us = 9e6 * machine.speed();
  return std::max(from_memory, (packed * column_tiles * batch + dense * row_tiles) / l2_bytes_per_us);
}

double predict_us(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  constexpr double launch_us = 1.1;
  constexpr double start_us = 1.5;  // the first copies, and the last stores
  const Machine machine = machine_of(query);
  const double columns = as_double(ceil_div(std::max<std::int64_t>(query.n.most, 1), tile_columns(config)));
  const double blocks = as_double(ceil_div(query.statistics.rows, tile_rows(config))) * columns * config.k_split *
                        as_double(query.problem.batch);
  const double waves = std::max(1.0, std::ceil(blocks / (machine.multiprocessors * config.min_blocks)));
  const double together = std::min<double>(config.min_blocks, std::ceil(blocks / machine.multiprocessors));
  const double steps = as_double(sparse_tensor::slice_blocks(query, config.k_split));
  const double work = waves * steps * std::max(together * block_cycles(query, config), latency_cycles(config));
  constexpr double measured_over_model = 3.2;  // 8192x8192 at 95 and 97 %, 256 to 4096 columns, on an H200
  return without_overlap(query, 1.09) *
             (launch_us + start_us +
              std::max(measured_over_model * work / machine.cycles_per_us, memory_us(query, config, machine))) +
         sparse_tensor::other_launches_us(query, workspace(query, config).product, false);
}

// The space, as tables.

/// Warps of a block and the part of the tile that each computes.
struct Shape {
  int row_warps;
  int column_warps;
  int warp_strips;
  int warp_columns;
};

/// The larger a warp's part of C, the more products share each load of A and B. The first ones are for large problems.
constexpr std::array wide_shapes = {Shape{2, 4, 4, 64}, Shape{2, 2, 4, 64}, Shape{2, 4, 4, 32}, Shape{4, 1, 4, 64},
                                    Shape{2, 2, 2, 64}, Shape{2, 2, 2, 32}, Shape{4, 1, 1, 32}, Shape{2, 2, 1, 32}};

/// For n of at most 32: warp_columns is n rounded up.
constexpr std::array narrow_shapes = {Shape{4, 1, 4, 0}, Shape{4, 1, 2, 0}, Shape{4, 1, 1, 0}, Shape{2, 1, 1, 0}};

constexpr std::array stage_counts = {3, 4, 2};
constexpr std::array pass_rooms = {sparse_steps() * sparse_most_passes(), 3};

/// Slices of k, relative to the number that fills the device once.
constexpr std::array split_steps = {0, 1, -1};

std::vector<Shape> shapes_for(const SpmmQuery& query) {
  if (query.n.most > 32) return {wide_shapes.begin(), wide_shapes.end()};
  std::vector<Shape> list(narrow_shapes.begin(), narrow_shapes.end());
  const auto columns =
      static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(query.n.most, 8, 32))));
  for (Shape& shape : list) shape.warp_columns = columns;
  return list;
}

std::int64_t tiles(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return ceil_div(query.statistics.rows, tile_rows(config)) * ceil_div(query.n.most, tile_columns(config)) *
         query.problem.batch;
}

/// Slices that fill the device once.
int filling_split(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  constexpr std::int64_t least_slice_blocks = 8;
  const auto room = static_cast<std::int64_t>(machine_of(query).multiprocessors) * config.min_blocks;
  int split = 1;
  while (split < 32 && tiles(query, config) * split * 2 <= room &&
         sparse_tensor::k_blocks(query) >= 2 * least_slice_blocks * split)
    split *= 2;
  return split;
}

SparseTensorMmaConfig config_of(const SpmmQuery& query, const Shape& shape, int stages, int strip_passes,
                                int split_step) {
  constexpr int most_blocks = 8;
  SparseTensorMmaConfig config = {.row_warps = shape.row_warps,
                                  .column_warps = shape.column_warps,
                                  .warp_strips = shape.warp_strips,
                                  .warp_columns = shape.warp_columns,
                                  .stages = stages,
                                  .strip_passes = strip_passes,
                                  .stream_output = streams_output(query)};
  config.min_blocks = std::clamp(resident_blocks(query, config), 1, most_blocks);
  const int split = filling_split(query, config);
  const int wanted = split_step >= 0 ? split << split_step : std::max(1, split >> -split_step);
  config.k_split = static_cast<int>(filled_parts(sparse_tensor::k_blocks(query), wanted));
  return config;
}

/// visit(config) for every combination of the tables except raster_rows.
template <class Visit>
void for_each_config(const SpmmQuery& query, Visit visit) {
  for (const Shape& shape : shapes_for(query))
    for (const int stages : stage_counts)
      for (const int strip_passes : pass_rooms)
        for (const int split_step : split_steps) visit(config_of(query, shape, stages, strip_passes, split_step));
}

/// Every admitted combination, best first.
std::vector<SparseTensorMmaConfig> admitted(const SpmmQuery& query) {
  std::vector<SparseTensorMmaConfig> all;
  for_each_config(query, [&](const SparseTensorMmaConfig& config) { all.push_back(config); });
  return ranked(
      all,
      [&](const SparseTensorMmaConfig& config) { return reason_against(case_of(query, config), rules) == nullptr; },
      [&](const SparseTensorMmaConfig& config) { return predict_us(query, config); });
}

SparseTensorMmaConfig smallest_config(const SpmmQuery& query) {
  return config_of(query, shapes_for(query).back(), stage_counts.back(), pass_rooms.back(), split_steps.front());
}

Launch multiply_launch(const SpmmQuery& query, const SparseTensorMmaConfig& config, const TopologyPointers& topology) {
  const SparseTensorTraits t = sparse_tensor::traits(query, config.k_split);
  codegen::KernelRequest request = {.family = "sparse_tensor_mma",
                                    .header = "spmm/sparse_tensor_mma.h",
                                    .expression = codegen::name_expression("sparse_tensor_mma", "SparseTensorTraits", t,
                                                                           "SparseTensorMmaConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  return Launch::of<SpmmArguments, SparseTensorArgs>(
      std::move(request), shape, sparse_tensor::binding(query, workspace(query, config).product, topology));
}

}  // namespace
}  // namespace sparse_tensor_mma

namespace {

struct SparseTensorMma {
  using Query = SpmmQuery;
  using Config = SparseTensorMmaConfig;
  static constexpr std::string_view name = "sparse_tensor_mma";
  static constexpr const char* why_not_there = "mma.sp of 16 x 8 x 32 and cp.async came with sm_80";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }

  static std::optional<std::string> declines(const Query& query) {
    if (auto reason = sparse_tensor::declines(query)) return reason;
    return nothing_admitted([&] { return sparse_tensor_mma::smallest_config(query); },
                            [&] { return default_config(query); },
                            [&](const Config& config) { return forbidden(query, config); });
  }
  static constexpr auto forbidden = sparse_tensor_mma::forbidden;
  static constexpr auto predict_us = sparse_tensor_mma::predict_us;

  static Config default_config(const Query& query) {
    const std::vector<Config> list = sparse_tensor_mma::admitted(query);
    return list.empty() ? sparse_tensor_mma::smallest_config(query) : list.front();
  }
  static std::vector<Config> space(const Query& query) {
    std::vector<Config> list = {default_config(query)};
    sparse_tensor_mma::for_each_config(query, [&](Config config) {
      for (const int raster_rows : {8, 2, 32}) {
        config.raster_rows = raster_rows;
        add_new(list, config);
      }
    });
    return list;
  }
  static std::vector<Config> short_list(const Query& query) {
    constexpr std::size_t length = 12;
    std::vector<Config> list = {default_config(query)};
    for (const Config& candidate : sparse_tensor_mma::admitted(query))
      if (list.size() < length) add_new(list, candidate);
    return list;
  }

  static TopologyNeeds needs(const Query& query, const Config&) { return sparse_tensor::needs(query); }
  static std::string packed_format(const Query& query, const Config&) { return sparse_format(query.problem.element); }
  static std::int64_t workspace_bytes(const Query& query, const Config& config) {
    return sparse_tensor_mma::workspace(query, config).bytes;
  }
  static std::vector<Launch> launches(const Query& query, const Config& config, const TopologyPointers& topology) {
    return sparse_tensor::launches(query, sparse_tensor_mma::workspace(query, config).product,
                                   sparse_tensor_mma::multiply_launch(query, config, topology), topology);
  }
};

}  // namespace

std::unique_ptr<Family> make_sparse_tensor_mma() { return family_of<SparseTensorMma>(); }

}  // namespace vostok::ops
