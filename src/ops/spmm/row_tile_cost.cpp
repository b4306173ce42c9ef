// The cost model of row_tile: three resources, the latency of a row, and what they add up to. Constants were fitted to
// measurements on an H200 (bench/NOTES.md); other devices scale by multiprocessors and clock. It ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/row_tile.hpp"

namespace vostok::ops::row_tile {

namespace {

/// What L2 hands out in a microsecond.
double l2_bytes_per_us(const Machine& machine) { return 18.3e6 * machine.speed(); }

/// Sizes as real numbers; nonzeros and m of the whole batch.
struct Sizes {
  double m, n, nonzeros, mean_row, longest_row, density, element_bytes, output_bytes, entry_bytes;
};

Sizes sizes_of(const SpmmQuery& query) {
  const TopologyStatistics& s = query.statistics;
  const auto m = static_cast<double>(std::max<std::int64_t>(s.rows, 1));
  const auto nonzeros = static_cast<double>(std::max<std::int64_t>(s.nonzeros, 1));
  const auto k = static_cast<double>(std::max<std::int64_t>(s.cols, 1));
  const auto batch = static_cast<double>(query.problem.batch);
  const double element_bytes = size_of(query.problem.element);
  return {.m = m * batch,
          .n = static_cast<double>(std::max<std::int64_t>(query.n.most, 1)),
          .nonzeros = nonzeros * batch,
          .mean_row = nonzeros / m,
          .longest_row = static_cast<double>(s.longest_row),
          .density = nonzeros / m / k,
          .element_bytes = element_bytes,
          .output_bytes = static_cast<double>(size_of(query.problem.output.value_or(query.problem.element))),
          .entry_bytes = element_bytes + (query.index == IndexType::u16 ? 2 : 4)};
}

/// What a load of B costs more where neighbouring lanes read different columns of a column-major B: a sector each.
double scatter(const SpmmQuery& query, const Sizes& size, const RowTileConfig& c) {
  constexpr double sector_bytes = 32;
  return query.problem.dense_layout == Layout::column_major && !c.prepare_dense && query.n.most > 1 ? sector_bytes / size.element_bytes : 1;
}

/// Bytes of an entry; one that is looked up costs its place and a sector.
double entry_bytes(const SpmmQuery& query, const Sizes& size, const RowTileConfig& c) {
  return size.entry_bytes + (query.problem.sparse_transposed && !c.pack_values ? 4 + 32 : 0);
}

/// Microseconds in which L1 and shared memory serve all loads: a wavefront of 128 bytes a cycle.
double l1_us(const SpmmQuery& query, const Sizes& size, const RowTileConfig& c, double column_tiles, const Machine& machine) {
  const double dense_wavefronts = size.n * size.element_bytes * scatter(query, size, c) / 128 / column_tiles;
  const double sparse_wavefronts = 0.66 / c.row_split;
  return size.nonzeros * column_tiles * (dense_wavefronts + sparse_wavefronts) / machine.multiprocessors / machine.cycles_per_us;
}

/// Microseconds in which L2 serves what L1 misses: rows that run together on a multiprocessor share rows of B.
double l2_us(const SpmmQuery& query, const Sizes& size, const RowTileConfig& c, double column_tiles, const Machine& machine) {
  const double together = c.tile_rows * (1 + (c.min_blocks - 1) * 0.2);
  const double missed = (1 - std::pow(1 - std::min(size.density, 0.999), together)) / (size.density * together);
  const double dense_bytes = size.nonzeros * size.n * size.element_bytes * scatter(query, size, c) * (0.05 + 0.95 * missed);
  return (dense_bytes + size.nonzeros * entry_bytes(query, size, c) * column_tiles) / l2_bytes_per_us(machine);
}

/// Microseconds of the launches before the product: each reads and writes what it prepares.
double preparation_us(const SpmmQuery& query, const Sizes& size, const RowTileConfig& c, const Machine& machine) {
  constexpr double launch_us = 1.5;
  const double dense_bytes = static_cast<double>(query.statistics.cols * query.problem.batch) * size.n * size.element_bytes;
  double us = 0;
  if (c.prepare_dense) us += launch_us + 2 * dense_bytes / l2_bytes_per_us(machine);
  if (c.pack_values) us += launch_us + size.nonzeros * (4 + 32 + size.element_bytes) / l2_bytes_per_us(machine);
  return us;
}

/// Microseconds that a row of this many entries takes alone.
double row_us(double entries, const RowTileConfig& c) {
  constexpr double start_us = 0.38;
  constexpr double step_us = 0.111;
  constexpr double batch_us = 0.121;
  constexpr double value_us = 0.00013;
  const int batch = c.residue_unroll * (c.overlap_batches ? 2 : 1);
  const double lane_values = static_cast<double>(c.tile_columns) / c.threads_per_row;
  const double batches = std::ceil(entries / c.row_split / batch + 0.5);
  return start_us + std::ceil((entries + 1.5) / c.tile_nonzeros) * step_us + batches * (batch_us + lane_values * batch * value_us);
}

double output_us(const SpmmQuery& query, const Sizes& size, const Machine& machine) {
  const double output_bytes = size.m * size.n * size.output_bytes;
  const double dense_rows = std::min(static_cast<double>(query.statistics.cols * query.problem.batch), size.nonzeros);
  const double dense_bytes = dense_rows * size.n * size.element_bytes;
  constexpr double cached_bytes = 4e7;
  if (output_bytes < cached_bytes) return output_bytes / l2_bytes_per_us(machine);
  return (output_bytes + dense_bytes) / machine.memory_bytes_per_us;
}

}  // namespace

double predict_us(const SpmmQuery& query, const RowTileConfig& config) {
  const Machine machine = machine_of(query);
  const Sizes size = sizes_of(query);
  const auto column_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.n.most, 1), config.tile_columns));
  const auto row_tiles = static_cast<double>(ceil_div(std::max<std::int64_t>(query.statistics.rows, 1), config.tile_rows));
  const double blocks = row_tiles * column_tiles * static_cast<double>(query.problem.batch);
  const double waves = std::max(1.0, blocks / (machine.multiprocessors * config.min_blocks));
  const double l1 = l1_us(query, size, config, column_tiles, machine);
  const double l2 = l2_us(query, size, config, column_tiles, machine);
  const double row = row_us(size.mean_row, config);
  const double latency = row * waves;
  const double longest = std::max({l1, l2, latency});
  const double tail = row_us(size.longest_row, config) - row;
  constexpr double launch_us = 1.1;
  constexpr double overlap_loss = 0.28;  // resources are never used perfectly beside one another
  constexpr double exposed_tail = 0.32;  // long rows start first
  return launch_us + longest + overlap_loss * (l1 + l2 + latency - longest) + std::max(0.0, tail) * exposed_tail +
         0.35 * output_us(query, size, machine) + preparation_us(query, size, config, machine);
}

}  // namespace vostok::ops::row_tile
