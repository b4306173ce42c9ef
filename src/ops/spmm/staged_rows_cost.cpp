// The cost model of staged_rows: what a multiprocessor's shared memory and instruction slots take for its blocks, what L2 takes to hand out
// the panels, and what comes before and after. Constants were made for the figures of a prototype on an H200 (8192x2048, n = 128); other devices
// scale by multiprocessors and clock. It ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/spmm/csr_cost.hpp"
#include "ops/spmm/staged_rows.hpp"

namespace vostok::ops::staged_rows {

namespace {

/// Work of one block, in cycles of a multiprocessor that has nothing else to do.
struct BlockWork {
  double shared_cycles;  ///< a wavefront of 128 bytes each
  double issue_cycles;   ///< four instructions of a warp each
};

BlockWork block_work(const SpmmQuery& query, const csr_product::Sizes& size, const StagedRowsConfig& c) {
  constexpr double wavefront_bytes = 128;
  constexpr double schedulers = 4;
  const double row_bytes = c.tile_columns * size.element_bytes;
  const auto block_panels = static_cast<double>(slice_panels(query, c));
  const double row_tiles = std::ceil(size.m / static_cast<double>(query.problem.batch) / tile_rows(c)) * static_cast<double>(query.problem.batch);
  const double entries = size.nonzeros / row_tiles / c.k_split;
  const double steps = block_panels * c.warps * c.rows_per_lane;
  const double abreast = rows_abreast(c);
  const double lane_values = static_cast<double>(c.tile_columns) / c.threads_per_row;
  const double copies = block_panels * c.panel_rows * row_bytes;
  // An entry is loaded, stored to shared memory and read by its row's lanes, two at a time beside those of the rows abreast.
  constexpr double staging = 0.15;
  constexpr double step_wavefronts = 6;
  constexpr double step_instructions = 70;
  const double conversions = size.element_bytes == 2 ? lane_values : 0;
  const double loads = lane_values / c.dense_vector;
  const double entry_instructions = (lane_values + conversions + loads + 1.75) / abreast;
  const double copy_instructions = copies / (32 * c.dense_vector * size.element_bytes) * 4;
  return {.shared_cycles = entries * (row_bytes / wavefront_bytes + 0.5 / abreast + staging) + steps * step_wavefronts + copies / wavefront_bytes,
          .issue_cycles = (entries * entry_instructions + steps * step_instructions + copy_instructions) / schedulers};
}

/// Microseconds of the launch that adds slices.
double sum_us(const csr_product::Sizes& size, const StagedRowsConfig& c, const Machine& machine) {
  if (c.k_split == 1) return 0;
  constexpr double launch_us = 1.7;
  return launch_us + size.m * size.n * 4 * 2 * c.k_split / csr_product::l2_bytes_per_us(machine);
}

}  // namespace

double predict_us(const SpmmQuery& query, const StagedRowsConfig& config) {
  constexpr double launch_us = 1.6;
  constexpr double start_us = 1.2;      // of a block: starts, entries and the first panel, one after another
  constexpr double panel_cycles = 250;  // the slowest warp of each panel, and the barrier
  constexpr double imbalance = 1.15;
  constexpr double panel_bytes_per_us = 8e6;  // L2, by copies of 16 bytes
  const Machine machine = machine_of(query);
  const csr_product::Sizes size = csr_product::sizes_of(query);
  const auto column_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.n.most, 1), config.tile_columns));
  const double blocks = static_cast<double>(row_blocks(query, config) * query.problem.batch) * column_tiles;
  const double rounds = std::ceil(blocks / machine.multiprocessors);
  const double resident = std::min<double>(resident_blocks(query, config), rounds);
  const BlockWork work = block_work(query, size, config);
  const auto block_panels = static_cast<double>(slice_panels(query, config));
  const double cycles = std::max(work.shared_cycles, work.issue_cycles) * imbalance + block_panels * panel_cycles / resident;
  const double compute_us = rounds * cycles / machine.cycles_per_us;
  const double latency_us = std::ceil(rounds / resident) * start_us;
  const double panel_bytes = blocks * block_panels * config.panel_rows * config.tile_columns * size.element_bytes;
  const double entry_bytes = size.nonzeros * column_tiles * csr_product::entry_bytes(query, size, config);
  const double panel_us = (panel_bytes + entry_bytes) / panel_bytes_per_us / machine.speed();
  const double unproven = query.statistics.cols < 1024 ? 1.15 : 1;  // where row_tile was measured, and panels are few
  return unproven * (launch_us + latency_us + std::max(compute_us, panel_us) + 0.28 * std::min(compute_us, panel_us) +
                     0.35 * csr_product::output_us(query, size, machine) + csr_product::preparation_us(query, size, config, machine) +
                     sum_us(size, config, machine));
}

}  // namespace vostok::ops::staged_rows
