// The cost model of nonzero_split, for ranking only. Resources and latency are modelled as for row_tile, but chunks of
// equal length replace rows, so that there is no tail, and split rows cost another launch. Constants were fitted to
// 1170 trials of 360 problems on H200s.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/spmm/csr_cost.hpp"
#include "ops/spmm/nonzero_split.hpp"

namespace vostok::ops::nonzero_split {

namespace {

/// Microseconds of one chunk alone: its steps, each with batches of entries one after another, and the rows that end in
/// it.
double chunk_us(const csr_product::Sizes& size, const NonzeroSplitConfig& c) {
  constexpr double step_us = 2.09;     // entries arrive and are staged; also the first step's table entry
  constexpr double batch_us = 0.21;    // rows of B arrive
  constexpr double value_us = 0.0055;  // of each lane and entry, whether the batch is full or not
  constexpr double row_us = 0.067;     // look-up and store
  const double rows = c.chunk_items / (size.mean_row + 1);
  const double entries = c.chunk_items - rows;
  const double lane_values = static_cast<double>(c.tile_columns) / c.threads_per_row;
  const int batch = c.loads_in_flight * (c.overlap_batches ? 2 : 1);
  const double batches = std::ceil(entries / batch + 0.5);
  return std::ceil((entries + 1.5) / c.tile_nonzeros) * step_us +
         batches * (batch_us + lane_values * batch * value_us) + rows * row_us;
}

/// Microseconds of the launch that adds the pieces of rows that several blocks share.
double split_rows_us(const SpmmQuery& query, const NonzeroSplitConfig& c) {
  if (!splits_rows(query, c)) return 0;
  constexpr double launch_us = 2.5;
  constexpr double piece_us = 0.08;
  const double pieces = static_cast<double>(query.statistics.longest_row) / c.chunk_items / c.chunks_per_block;
  return launch_us + pieces / split_rows_config(c).ranges * piece_us;
}

}  // namespace

bool defeats_rows(const SpmmQuery& query) {
  const TopologyStatistics& s = query.statistics;
  constexpr double usual_variation = 0.8;
  constexpr double usual_longest = 5;
  constexpr std::int64_t tile_columns = 128;
  const bool uneven = s.row_variation > usual_variation ||
                      static_cast<double>(s.longest_row) > usual_longest * std::max(s.mean_row, 1.0);
  const double rows =
      static_cast<double>(s.rows) * static_cast<double>(ceil_div(query.n.most, tile_columns) * query.problem.batch);
  return uneven || rows < machine_of(query).multiprocessors;
}

double predict_us(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  const Machine machine = machine_of(query);
  const csr_product::Sizes size = csr_product::sizes_of(query);
  const auto column_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.n.most, 1), config.tile_columns));
  const double blocks = static_cast<double>(block_count(query, config) * query.problem.batch) * column_tiles;
  const double waves = std::max(1.0, blocks / (machine.multiprocessors * config.min_blocks));
  const double block_rows = std::max(1.0, config.chunks_per_block * config.chunk_items / (size.mean_row + 1));
  const double rows_together = block_rows * (1 + (config.min_blocks - 1) * 0.2);
  const double l1 = csr_product::l1_us(query, size, config, column_tiles, 0.66 * config.threads_per_row / 32, machine);
  const double l2 = csr_product::l2_us(query, size, config, column_tiles, rows_together, machine);
  constexpr double launch_us = 0.6;
  constexpr double uneven =
      1.16;  // chunks of row ends and of entries differ, and a block lasts as long as its slowest chunk
  const double us = launch_us + csr_product::overlapped_us(l1, l2, chunk_us(size, config) * waves) +
                    split_rows_us(query, config) + 0.35 * csr_product::output_us(query, size, machine) +
                    csr_product::scattered_output_us(query, size, 1, machine) +
                    csr_product::preparation_us(query, size, config, machine);
  return defeats_rows(query) ? us * uneven : us;
}

}  // namespace vostok::ops::nonzero_split
