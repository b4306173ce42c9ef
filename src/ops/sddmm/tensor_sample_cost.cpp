// The cost model of tensor_sample: what tensor cores, shared memory and L2 take for a tile, how well the warps of a
// multiprocessor overlap that, and waves. From the machine's figures (bench/notes/measuring.md#profiles-of-kernels),
// not fitted yet: it ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/machine.hpp"
#include "ops/mask_runs.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/tensor_sample.hpp"

namespace vostok::ops::tensor_sample {

namespace {

constexpr double launch_us = 1.5;

/// Throughput of an SM in a cycle.
constexpr double mma_per_cycle = 0.59;  // of m16n8k16
constexpr double shared_bytes_per_cycle = 128;
constexpr double l2_bytes_per_cycle = 24;  // of one SM

/// Busy cycles of an SM's resources.
struct Cycles {
  double tensor = 0;
  double shared = 0;
  double l2 = 0;

  /// Cycles of all three together, which hinder one another.
  double together() const {
    const double longest = std::max({tensor, shared, l2});
    return longest + 0.2 * (tensor + shared + l2 - longest);
  }
};

/// Tiles with nonzeros, of causal masks half as many.
double seen_tiles(const SddmmQuery& query, const TensorSampleConfig& c) {
  return std::max(sampled::expected_tiles(query, tile_shape(c), spanned_share(query.statistics)), 1.0);
}

/// For one tile and `steps` steps of 16 n.
Cycles tile_cycles(const SddmmQuery& query, const TensorSampleConfig& c, double steps) {
  const double terms = sample_terms(c.mode);
  const double products = terms == 2 ? 3 : 1;
  const double area = static_cast<double>(tile_rows(c)) * tile_columns(c);
  const double entries = static_cast<double>(query.statistics.nonzeros) / seen_tiles(query, c);
  const double reads = (c.kept_blocks == 1 ? 0 : c.warp_rows) + c.warp_columns;
  const double step_bytes = threads(c) / 32.0 * reads * 32 * (c.low_first ? terms + 1 : terms) +
                            sample_stage_bytes(c) / double{steps_of_block()};
  constexpr double sum_bytes = 4;
  constexpr double gathered_bytes = 64;  // of shared memory traffic, including addresses and stores
  return {.tensor = steps * products * area / 128 / mma_per_cycle,
          .shared = (steps * step_bytes + area * sum_bytes + entries * gathered_bytes) / shared_bytes_per_cycle,
          .l2 = steps * sample_stage_bytes(c) / steps_of_block() / l2_bytes_per_cycle};
}

}  // namespace

double predict_us(const SddmmQuery& query, const TensorSampleConfig& config) {
  const Machine machine = machine_of(query);
  const double tiles = seen_tiles(query, config);
  const double blocks =
      std::ceil(tiles / config.tiles_per_block) * static_cast<double>(query.problem.batch) * config.n_split;
  const double own_tiles = std::min<double>(config.tiles_per_block, tiles);
  const double steps = static_cast<double>(
      std::min(sampled::n_steps(query), sampled::part_blocks(query, config.n_split) * steps_of_block()));

  // Resident blocks of an SM fill each other's gaps: at barriers, and between the last product of a tile and its last
  // store.
  const double per_multiprocessor = std::ceil(blocks / machine.multiprocessors);
  const double resident = std::min<double>(config.min_blocks, per_multiprocessor);
  const double warps = resident * threads(config) / 32;
  const double overlap = warps / (warps + 2.5);
  constexpr double start_cycles = 2500;  // until the first stage has arrived
  constexpr double tile_gap_cycles = 1500;
  constexpr double load_cycles = 900;  // from issuing a stage's copies to their arrival, besides the time in L2
  const Cycles parts = tile_cycles(query, config, steps);
  const double n_blocks_of_tile = std::ceil(steps / steps_of_block());
  const double arrival = (n_blocks_of_tile * load_cycles + resident * parts.l2) / (config.stages - 1);
  const double tile = std::max(resident * parts.together() / overlap, arrival) + tile_gap_cycles / resident;
  const double waves = std::ceil(per_multiprocessor / resident);
  const double cycles = waves * (start_cycles + own_tiles * tile);

  constexpr double bytes_of_entry = 2;
  const double written = static_cast<double>(query.statistics.nonzeros * query.problem.batch) *
                         (bytes_of_entry + size_of(query.problem.output.value_or(query.problem.element)));
  constexpr double of_bands = 1.15;
  const double main_us = std::max(of_uneven_mask(query.statistics, of_bands) * cycles / machine.cycles_per_us,
                                  sampled::moved_us(query, written));
  return launch_us + sampled::prepare_us(query, config.mode) + main_us + sampled::sum_us(query, config.n_split);
}

}  // namespace vostok::ops::tensor_sample
