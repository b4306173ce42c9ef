// The cost model of wgmma_sample: what tensor cores, shared memory and L2 take for a tile, what of the gathering other
// warpgroups do not hide, and waves. Constants stand for an H200, fitted to what 120 problems of 32-bit elements took
// there (bench/notes/cost_models.md#clusters-and-products-of-16-bits).
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/mask_runs.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/wgmma_sample.hpp"

namespace vostok::ops::wgmma_sample {

namespace {

constexpr double launch_us = 1.3;

/// Throughput of an SM in a cycle.
constexpr double tensor_share = 0.62;  // of the tensor cores' peak
constexpr double shared_bytes_per_cycle = 128;
constexpr double l2_bytes_per_cycle = 40;  // of one SM

/// Busy cycles of an SM's resources, and latencies of a warpgroup.
struct Cycles {
  double tensor = 0;
  double shared = 0;
  double l2 = 0;
  double laying = 0;     ///< from a warpgroup's last product until its sums are in shared memory
  double gathering = 0;  ///< from there to its last store

  double longest() const { return std::max({tensor, shared, l2}); }
};

/// For one tile and `n_blocks` n blocks.
Cycles tile_cycles(const SddmmQuery& query, const WgmmaSampleConfig& c, double n_blocks) {
  const TensorSampleTraits t = sampled::traits(query);
  const double instructions = steps_of_block() * (sample_terms(c.mode) == 2 ? 3.0 : 1.0) * n_blocks * c.warpgroups;
  constexpr double step_bytes = 32;  // of the terms of one row
  const double read_rows = c.tile_columns + (keeps_lhs(t) ? 0 : warpgroup_rows());
  const double entries = sampled::expected_entries(query, tile_shape(c));
  constexpr double gathered_bytes = 32;  // of shared memory traffic
  constexpr double laying_cycles = 700;
  constexpr double gathering_cycles = 200;
  constexpr double entry_cycles = 0.5;  // of one warp
  constexpr double unlisted_cycles =
      10;  // additional, of an entry that does not fit the list and is read from global memory
  const double unlisted = std::max(0.0, entries - c.list_room);
  return {.tensor = instructions * c.tile_columns / 2 / tensor_share,
          .shared = (instructions * read_rows * step_bytes + sums_bytes(c) + entries * gathered_bytes) /
                    shared_bytes_per_cycle,
          .l2 = (n_blocks * sample_stage_bytes(t, c) + 2 * entries + 4 * tile_rows(c)) / l2_bytes_per_cycle,
          .laying = laying_cycles + 1.5 * c.tile_columns,
          .gathering = gathering_cycles + (entry_cycles * entries + unlisted_cycles * unlisted) / consumer_warps(c)};
}

/// How tiles and parts of n are spread over blocks, and blocks over SMs.
struct Spread {
  double own_tiles;  ///< of a block
  double n_blocks;   ///< of a tile, in a block's part
  double per_multiprocessor;
  double resident;

  double waves() const { return std::ceil(per_multiprocessor / resident); }
};

Spread spread_of(const SddmmQuery& query, const WgmmaSampleConfig& config, const Machine& machine) {
  const double tiles = std::max(sampled::expected_tiles(query, tile_shape(config)), 1.0);
  const auto lines = static_cast<double>(query.problem.batch) * config.n_split;
  const double shares = config.waves == 0 ? tiles : std::min(tiles, static_cast<double>(most_shares(query, config)));
  const double own_tiles = std::ceil(tiles / shares);
  const double per_multiprocessor = std::ceil(std::ceil(tiles / own_tiles) * lines / machine.multiprocessors);
  return {
      .own_tiles = own_tiles,
      .n_blocks = static_cast<double>(std::min(sampled::n_blocks(query), sampled::part_blocks(query, config.n_split))),
      .per_multiprocessor = per_multiprocessor,
      .resident = std::min<double>(config.min_blocks, per_multiprocessor)};
}

/// What passes through shared memory for an n block where blocks split f32 operands: A in and out, B in, out to be
/// split and in again, and both its terms out to each warpgroup, one of them twice.
double split_traffic_bytes(const WgmmaSampleConfig& c) {
  constexpr double row_bytes = 4.0 * sample_block();
  return (2.0 * tile_rows(c) + (3.0 + 3.0 * c.warpgroups) * c.tile_columns) * row_bytes;
}

/// Microseconds of products whose operands the copy engine brings from where they lie. Fitted to 1,452 trials of 94
/// problems (bench/notes/sddmm.md#16-bits-as-a-gemms-loop); what splitting adds, to races of 18 (#by-tf32-terms).
double loop_us(const SddmmQuery& query, const WgmmaSampleConfig& c, const Machine& machine) {
  constexpr double start_us = 0.72;
  constexpr double start_cycles = 1370;
  constexpr double box_bytes_per_cycle = 54;  // of one SM
  constexpr double tensor_rate = 0.69;        // of the peak
  constexpr double cached_cycles = 315;       // from a copy's issue to its arrival, out of L2 and out of memory
  constexpr double fetched_cycles = 1850;
  constexpr double splitting_cycles = 700;  // from an arrival until B is split, with A's way to registers
  constexpr double split_bytes_per_cycle = 83;
  constexpr double promotion_cycles = 115;
  constexpr double laying_cycles = 740, gathering_cycles = 50;
  constexpr double entry_cycles = 2.65, unlisted_cycles = 10;  // of one warp
  const Spread spread = spread_of(query, c, machine);
  const auto operand_bytes = static_cast<double>(query.statistics.rows + query.statistics.cols) *
                             static_cast<double>(query.problem.n * query.problem.batch) *
                             size_of(query.problem.element);
  const bool fetched = operand_bytes > cached_bytes;
  // Three products, of half as many elements an instruction.
  const double products = splits_operands(c) ? 6 : 1;
  const double tensor = products * steps_of_block() * c.tile_columns / 2.0 * c.warpgroups / tensor_rate;
  const double intake = block_stages(c) * copied_stage_bytes(sampled::traits(query), c) / box_bytes_per_cycle;
  const double split = splits_operands(c) ? split_traffic_bytes(c) / split_bytes_per_cycle : 0;
  const double latency = (fetched ? fetched_cycles : cached_cycles) + (splits_operands(c) ? splitting_cycles : 0);
  double block =
      std::max(std::max({tensor, intake, split}) * spread.resident, latency * block_stages(c) / (c.stages - 1));
  if (fetched && c.warpgroups == 3 && c.stages == 3) block *= 1.25;  // 1.17 to 1.34 at 8192 x 8192, n = 4096
  if (c.promotion_blocks > 0) block += promotion_cycles / c.promotion_blocks * std::sqrt(spread.resident);
  const double entries = sampled::expected_entries(query, tile_shape(c));
  const double unlisted = std::max(0.0, entries - c.list_room);
  const double leaving = laying_cycles + 1.5 * c.tile_columns + gathering_cycles +
                         (entry_cycles * entries + unlisted_cycles * unlisted) / consumer_warps(c);
  const double tile = spread.n_blocks * block + leaving * std::sqrt(spread.resident);
  const double cycles = spread.waves() * (start_cycles + spread.own_tiles * tile);
  const double memory_us = fetched ? operand_bytes / machine.memory_bytes_per_us : 0;
  return start_us + std::max(cycles / machine.cycles_per_us, memory_us);
}

}  // namespace

double predict_us(const SddmmQuery& query, const WgmmaSampleConfig& config) {
  const Machine machine = machine_of(query);
  if (config.tensor_copies) return loop_us(query, config, machine) + sampled::sum_us(query, config.n_split);
  const Spread spread = spread_of(query, config, machine);
  const auto [own_tiles, n_blocks, per_multiprocessor, resident] = spread;
  const Cycles tile = tile_cycles(query, config, n_blocks);
  // Warpgroups that do not take turns drift apart, and hide more of each other's latency.
  const double hiding =
      config.takes_turns ? config.warpgroups * resident : (1 + 4.0 * (config.warpgroups - 1)) * resident;
  const double busy = resident * (tile.longest() + 0.03 * (tile.tensor + tile.shared + tile.l2 - tile.longest()));
  const double own_products = tile.tensor / config.warpgroups;
  // If n is one block, the next tile's products overlap the gathering of sums: tensor cores only wait while sums
  // are stored to shared memory.
  const bool overlaps = sampled::traits(query).one_block;
  const double own_chain =
      (overlaps ? std::max(own_products, tile.gathering) : own_products + tile.gathering) + tile.laying;
  const double waiting = tile.laying + (overlaps ? 0 : tile.gathering);
  constexpr double load_cycles = 200;  // from issuing a stage's copies to their arrival, besides the time in L2
  const double arrival = (n_blocks * load_cycles + resident * tile.l2) / (config.stages - 1);
  const double each = std::max({busy + waiting / hiding, own_chain, arrival});

  constexpr double start_cycles = 1800;  // until the first stage has arrived
  const double cycles = spread.waves() * (start_cycles + own_tiles * each + tile.laying + tile.gathering);
  constexpr double bytes_of_entry = 2;
  const double written = static_cast<double>(query.statistics.nonzeros * query.problem.batch) *
                         (bytes_of_entry + size_of(query.problem.output.value_or(query.problem.element)));
  // Tiles in and near a band have more entries than their lists have room for, and they are neighbours in the order of
  // tiles.
  constexpr double of_bands = 2.6;
  const double main_us = std::max(of_uneven_mask(query.statistics, of_bands) * cycles / machine.cycles_per_us,
                                  sampled::moved_us(query, written));
  // Terms that do not fit L2 come from memory, some of them once for each of several tiles.
  constexpr double fetches = 1.5;
  const auto rows = static_cast<double>(query.statistics.rows + query.statistics.cols);
  const double term_bytes =
      rows * static_cast<double>(query.problem.n * query.problem.batch) * 2 * sample_terms(config.mode);
  const double fetched_us = fetches * std::max(0.0, term_bytes - cached_bytes) / machine.memory_bytes_per_us;
  return launch_us + sampled::prepare_us(query, config.mode) + main_us + fetched_us +
         sampled::sum_us(query, config.n_split);
}

}  // namespace vostok::ops::wgmma_sample
