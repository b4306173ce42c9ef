// The cost model of staged_rows, for ranking only: shared memory and issue cycles of an SM for its blocks, their waits
// from panel to panel, and the launches around. The terms add up, since the warps of a block wait together and so hide
// little of one another. Constants were fitted to 5400 trials of 450 problems on H200s; other devices scale by SMs and
// clock.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/mask_runs.hpp"
#include "ops/spmm/csr_cost.hpp"
#include "ops/spmm/staged_rows.hpp"

namespace vostok::ops::staged_rows {

namespace {

/// Average entries of a row in one panel.
double panel_entries(const SpmmQuery& query, const csr_product::Sizes& size, const StagedRowsConfig& c) {
  return size.mean_row / static_cast<double>(panels(query, c));
}

/// Average rounds of staged entries in a warp's step; the last round is half empty. A step whose rows have nothing in
/// the panel is skipped, which is usual if rows have an entry or two.
double step_rounds(const SpmmQuery& query, const csr_product::Sizes& size, const StagedRowsConfig& c) {
  const double entries = panel_entries(query, size, c);
  const double busy = 1 - std::exp(-entries * rows_abreast(c));
  return busy * (0.5 + entries / c.tile_nonzeros);
}

/// Tiles of rows that a block takes one after another, on average.
double tiles_of_block(const SpmmQuery& query, const StagedRowsConfig& c) {
  return static_cast<double>(row_tiles(query, c)) /
         static_cast<double>(std::max<std::int64_t>(row_groups(query, c), 1));
}

/// Cycles of an otherwise idle SM for the work of one block.
double work_cycles(const SpmmQuery& query, const csr_product::Sizes& size, const StagedRowsConfig& c) {
  constexpr double wavefront_bytes = 128;
  constexpr double schedulers = 4;
  const double row_bytes = c.tile_columns * size.element_bytes;
  const auto block_panels = static_cast<double>(slice_panels(query, c));
  const std::int64_t row_blocks_of_batch = row_blocks(query, c) * query.problem.batch;
  const double entries = size.nonzeros / static_cast<double>(std::max<std::int64_t>(row_blocks_of_batch, 1));
  const double rounds =
      block_panels * tiles_of_block(query, c) * c.warps * c.rows_per_lane * step_rounds(query, size, c);
  const double abreast = rows_abreast(c);
  const double lane_values = static_cast<double>(c.tile_columns) / c.threads_per_row;
  const double copies = block_panels * c.panel_rows * row_bytes;
  // An entry is loaded, stored to shared memory and read by its row's lanes, two entries at a time and rows abreast in
  // parallel.
  constexpr double staging = 0.5;
  // For each warp: looking up segments, staging, and the entries of the last batch, which do not fill it. Fitted when
  // there were last batches of 4, 2 and 1.
  constexpr double round_instructions = 275;
  const double conversions = size.element_bytes == 2 ? lane_values : 0;
  const double loads = lane_values / c.dense_vector;
  const double entry_instructions = (lane_values + conversions + loads + 1.75) / abreast;
  const double copy_instructions = copies / (32 * c.dense_vector * size.element_bytes) * 4;
  const double shared_cycles =
      entries * (row_bytes / wavefront_bytes + 0.5 / abreast + staging) + copies / wavefront_bytes;
  const double issue_cycles =
      (entries * entry_instructions + rounds * round_instructions + copy_instructions) / schedulers;
  return std::max(shared_cycles, issue_cycles);
}

/// Cycles that a block waits, however few blocks there are: its panels come one after another, as do a warp's steps,
/// and the warp with the longest row delays the others.
double wait_cycles(const SpmmQuery& query, const csr_product::Sizes& size, const StagedRowsConfig& c) {
  constexpr double panel_cycles = 1480;  // copies that arrive, the barrier, the first entries from L2
  constexpr double round_cycles = 205;   // entries through shared memory, then the rows of B they multiply
  constexpr double entry_cycles = 20;    // of a row that continues after the others
  const double longest =
      std::max(0.0, size.longest_row / static_cast<double>(panels(query, c)) - panel_entries(query, size, c));
  const double rows_cycles = c.rows_per_lane * step_rounds(query, size, c) * round_cycles + longest * entry_cycles;
  return static_cast<double>(slice_panels(query, c)) * (panel_cycles + tiles_of_block(query, c) * rows_cycles);
}

/// Microseconds of the launch that adds slices. Their sums are stored and read once by other SMs, which is
/// slower than L2 at its best.
double sum_us(const csr_product::Sizes& size, const StagedRowsConfig& c, const Machine& machine) {
  if (c.k_split == 1) return 0;
  constexpr double launch_us = 2;
  constexpr double slowness = 3.1;
  return launch_us + slowness * size.m * size.n * 4 * 2 * c.k_split / csr_product::l2_bytes_per_us(machine);
}

}  // namespace

double predict_us(const SpmmQuery& query, const StagedRowsConfig& config) {
  constexpr double launch_us = 2.1;
  const Machine machine = machine_of(query);
  const csr_product::Sizes size = csr_product::sizes_of(query);
  const auto column_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.n.most, 1), config.tile_columns));
  const double blocks = static_cast<double>(row_blocks(query, config) * query.problem.batch) * column_tiles;
  const double rounds = std::ceil(blocks / machine.multiprocessors);
  // Resident blocks overlap their waits. Shared memory would allow more than min_blocks, but registers seldom do.
  const double waves = std::ceil(rounds / std::min(resident_blocks(query, config), config.min_blocks));
  const int warp_rows = csr_product::keeps_rows_together(query, config.row_swizzle) ? rows_abreast(config) : 1;
  constexpr double of_bands = 2;  // a few panels contain nearly all of a row's entries
  const double cycles = of_uneven_mask(query.statistics, of_bands) *
                        (rounds * work_cycles(query, size, config) + waves * wait_cycles(query, size, config));
  return launch_us + cycles / machine.cycles_per_us + csr_product::output_us(query, size, machine) +
         csr_product::scattered_output_us(query, size, warp_rows, machine) +
         csr_product::preparation_us(query, size, config, machine) + sum_us(size, config, machine);
}

}  // namespace vostok::ops::staged_rows
