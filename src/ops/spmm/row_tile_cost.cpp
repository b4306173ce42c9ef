// The cost model of row_tile: three resources, the latency of a row, and what they add up to. Constants were fitted to
// measurements on an H200 (bench/NOTES.md); other devices scale by multiprocessors and clock. It ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/spmm/csr_cost.hpp"
#include "ops/spmm/row_tile.hpp"

namespace vostok::ops::row_tile {

namespace {

/// Microseconds that a row of this many entries takes alone.
double row_us(double entries, const RowTileConfig& c) {
  constexpr double start_us = 0.882;
  constexpr double step_us = 0.103;
  constexpr double batch_us = 0.234;
  constexpr double value_us = 0.00041;
  const int batch = c.residue_unroll * (c.overlap_batches ? 2 : 1);
  const double lane_values = static_cast<double>(c.tile_columns) / c.threads_per_row;
  const double batches = std::ceil(entries / c.row_split / batch + 0.5);
  return start_us + std::ceil((entries + 1.5) / c.tile_nonzeros) * step_us + batches * (batch_us + lane_values * batch * value_us);
}

}  // namespace

double predict_us(const SpmmQuery& query, const RowTileConfig& config) {
  const Machine machine = machine_of(query);
  const csr_product::Sizes size = csr_product::sizes_of(query);
  const auto column_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.n.most, 1), config.tile_columns));
  const auto row_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.statistics.rows, 1), config.tile_rows));
  const double blocks = row_tiles * column_tiles * static_cast<double>(query.problem.batch);
  const double waves = std::max(1.0, blocks / (machine.multiprocessors * config.min_blocks));
  // Blocks are dealt out whole: the multiprocessor that has most of them takes in more than its share from L2, which is the limit of each.
  const double blocks_each = blocks / machine.multiprocessors;
  const double imbalance = std::ceil(blocks_each) / blocks_each;
  const double rows_together = config.tile_rows * (1 + (config.min_blocks - 1) * 0.294);
  const double l1 = csr_product::l1_us(query, size, config, column_tiles, 2.06 / config.row_split, machine);
  const double l2 = csr_product::l2_us(query, size, config, column_tiles, rows_together, machine) * imbalance;
  const double row = row_us(size.mean_row, config);
  const double tail = row_us(size.longest_row, config) - row;
  constexpr double launch_us = 1.04;
  constexpr double exposed_tail = 0.949;
  constexpr double overlap_loss = 0.679;
  return launch_us + csr_product::overlapped_us(l1, l2, row * waves, overlap_loss) + std::max(0.0, tail) * exposed_tail +
         0.298 * csr_product::output_us(query, size, machine) + csr_product::preparation_us(query, size, config, machine);
}

}  // namespace vostok::ops::row_tile
