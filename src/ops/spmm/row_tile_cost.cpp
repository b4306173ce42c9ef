// The cost model of row_tile: three resources and the latency of a row, which add up: small products wait for one after
// the other. Constants were fitted to measurements on an H200 (bench/notes/cost_models.md#row_tile); other devices
// scale by multiprocessors and clock. It ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/spmm/csr_cost.hpp"
#include "ops/spmm/row_tile.hpp"

namespace vostok::ops::row_tile {

namespace {

/// Microseconds of one row of this many entries alone, or of a piece of a row.
double row_us(double entries, const RowTileConfig& c) {
  constexpr double csr_start_us = 0.729;
  constexpr double slot_start_us = 0.693;  // NOLINT(modernize-use-std-numbers): fitted, no logarithm
  constexpr double gather_us = 0.155;
  constexpr double step_us = 0.077;
  constexpr double batch_us = 0.017;
  constexpr double value_us = 0.0031;
  const bool slots = c.slot_entries > 0;
  const double start_us = (slots ? slot_start_us : csr_start_us) + (c.row_pieces > 1 ? gather_us : 0);
  const double steps =
      std::ceil(slots ? std::max(0.0, entries - c.slot_entries) / c.tile_nonzeros : (entries + 1.5) / c.tile_nonzeros);
  const int batch = c.residue_unroll * (c.overlap_batches ? 2 : 1);
  const double lane_values = static_cast<double>(c.tile_columns) / c.threads_per_row;
  const double batches = std::ceil(entries / c.row_split / batch + 0.5);
  return start_us + steps * step_us + batches * (batch_us + lane_values * batch * value_us);
}

}  // namespace

double predict_us(const SpmmQuery& query, const RowTileConfig& config) {
  const Machine machine = machine_of(query);
  const csr_product::Sizes size = csr_product::sizes_of(query);
  const auto column_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.n.most, 1), config.tile_columns));
  const SlotShape slots = slot_shape(config);
  const int mean_pieces = slot_pieces(static_cast<long long>(size.mean_row), slots);
  const int longest_pieces = slot_pieces(query.statistics.longest_row, slots);
  const auto row_tiles =
      static_cast<double>(ceil_div(std::max<std::int64_t>(query.statistics.rows, 1) * mean_pieces, config.tile_rows));
  const double blocks = row_tiles * column_tiles * static_cast<double>(query.problem.batch);
  const double waves = std::max(1.0, blocks / (machine.multiprocessors * config.min_blocks));
  // Blocks are distributed whole: the SM with most of them loads more than its share from L2, which is what limits it.
  const double blocks_each = blocks / machine.multiprocessors;
  const double imbalance = std::ceil(blocks_each) / blocks_each;
  const double rows_together = config.tile_rows * (1 + (config.min_blocks - 1) * 3.63) / mean_pieces;
  const double l1 = csr_product::l1_us(query, size, config, column_tiles, 0.776 / config.row_split, machine);
  const double l2 = csr_product::l2_us(query, size, config, column_tiles, rows_together, machine) * imbalance;
  const double row = row_us(size.mean_row / mean_pieces, config);
  const double tail = row_us(size.longest_row / longest_pieces, config) - row;
  const int warp_rows = csr_product::keeps_rows_together(query, config.row_swizzle) ? 32 / lanes_per_row(config) : 1;
  constexpr double launch_us = 1.48;
  constexpr double exposed_tail = 1.23;
  return launch_us + l1 + l2 + row * waves + std::max(0.0, tail) * exposed_tail +
         0.298 * csr_product::output_us(query, size, machine) +
         csr_product::scattered_output_us(query, size, warp_rows, machine) +
         csr_product::preparation_us(query, size, config, machine);
}

}  // namespace vostok::ops::row_tile
