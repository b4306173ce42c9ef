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

}  // namespace

double predict_us(const SddmmQuery& query, const WgmmaSampleConfig& config) {
  const Machine machine = machine_of(query);
  const double tiles = std::max(sampled::expected_tiles(query, tile_shape(config)), 1.0);
  const auto lines = static_cast<double>(query.problem.batch) * config.n_split;
  const double shares = config.waves == 0 ? tiles : std::min(tiles, static_cast<double>(most_shares(query, config)));
  const double own_tiles = std::ceil(tiles / shares);
  const double blocks = std::ceil(tiles / own_tiles) * lines;
  const double n_blocks =
      static_cast<double>(std::min(sampled::n_blocks(query), sampled::part_blocks(query, config.n_split)));

  const double per_multiprocessor = std::ceil(blocks / machine.multiprocessors);
  const double resident = std::min<double>(config.min_blocks, per_multiprocessor);
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
  const double waves = std::ceil(per_multiprocessor / resident);
  const double cycles = waves * (start_cycles + own_tiles * each + tile.laying + tile.gathering);
  constexpr double bytes_of_entry = 2;
  const double written = static_cast<double>(query.statistics.nonzeros * query.problem.batch) *
                         (bytes_of_entry + size_of(query.problem.output.value_or(query.problem.element)));
  // Tiles in and near a band have more entries than their lists have room for, and they are neighbours in the order of
  // tiles.
  constexpr double of_bands = 2.6;
  const double main_us = std::max(of_uneven_mask(query.statistics, of_bands) * cycles / machine.cycles_per_us,
                                  sampled::moved_us(query, written));
  // Terms that do not fit L2 come from memory, some of them once for each of several tiles.
  constexpr double fetches = 4;
  const auto rows = static_cast<double>(query.statistics.rows + query.statistics.cols);
  const double term_bytes =
      rows * static_cast<double>(query.problem.n * query.problem.batch) * 2 * sample_terms(config.mode);
  const double fetched_us = fetches * std::max(0.0, term_bytes - cached_bytes) / machine.memory_bytes_per_us;
  const double prepare_us = config.tensor_copies ? 0 : sampled::prepare_us(query, config.mode);
  return launch_us + prepare_us + main_us + fetched_us + sampled::sum_us(query, config.n_split);
}

}  // namespace vostok::ops::wgmma_sample
