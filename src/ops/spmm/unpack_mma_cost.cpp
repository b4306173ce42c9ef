// The cost model of unpack_mma: what a k block takes of the issue slots, the tensor cores and shared memory of a
// multiprocessor, the memory that all read, and the launches. Constants began as counts of instructions and an H200's
// rates and were then fitted to what 168 problems took there (bench/notes/cost_models.md#unpack_mma). It ranks, nothing
// more.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/checked.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/output_stores.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/unpack_mma.hpp"

namespace vostok::ops::unpack_mma {

namespace {

constexpr double launch_us = 1.7;        ///< including the first copies and the last stores
constexpr double next_launch_us = 2.36;  ///< of a launch that waits for the one before it

double l2_bytes_per_us(const Machine& machine) { return 10.1e6 * machine.speed(); }

/// Sizes as real numbers.
struct Sizes {
  double m, n, k, nonzeros, batch, pair_share, strip_bytes, strips, output_bytes;
};

Sizes sizes_of(const SpmmQuery& query, const UnpackMmaConfig& c) {
  const TopologyStatistics& s = query.statistics;
  const auto m = static_cast<double>(std::max<std::int64_t>(s.rows, 1));
  const auto k = static_cast<double>(std::max<std::int64_t>(s.cols, 1));
  const auto nonzeros = static_cast<double>(s.nonzeros);
  const double density = std::min(1.0, nonzeros / m / k);
  const double pair_share = 1 - (1 - density) * (1 - density);
  return {.m = m,
          .n = static_cast<double>(std::max<std::int64_t>(query.n.most, 1)),
          .k = k,
          .nonzeros = nonzeros,
          .batch = static_cast<double>(query.problem.batch),
          .pair_share = pair_share,
          .strip_bytes = packed_header_bytes(PackedGrain::pair) + pair_share * packed_most_pairs() * 4 * terms(c),
          .strips = std::ceil(m / packed_strip_rows()) * std::ceil(k / packed_strip_columns()),
          .output_bytes = static_cast<double>(size_of(query.problem.output.value_or(query.problem.element)))};
}

/// Cycles of an SM for one k block of each team of a tile.
double block_cycles(const Sizes& size, const UnpackMmaConfig& c) {
  const double warps = threads(c) / 32.0;
  const double octets = c.warp_columns / 8.0;
  const double products = terms(c) == 2 ? 3 : 1;
  const double multiplications = 4 * c.warp_strips * octets * products;
  const double loads = 4 * std::max(1.0, octets / 2) * terms(c);
  const double unpacking = c.warp_strips * (16 * (3.38 + terms(c)) + 8.0);
  const double promotion = c.promotion_blocks > 0 ? c.warp_strips * octets * 4 * terms(c) / c.promotion_blocks : 0;
  const double team_threads = threads(c) / static_cast<double>(teams(c));
  const double stage_bytes = tile_strips(c) * size.strip_bytes + dense_stage_bytes(c);
  const double by_threads = dense_stage_bytes(c) + (c.bulk_strips ? 0 : tile_strips(c) * size.strip_bytes);
  const double copies = by_threads / 16 / team_threads * (teams(c) == 1 ? 5 : 2.5);
  const double splitting = splits_dense(c) ? packed_strip_columns() * tile_columns(c) / team_threads * 10 : 0;
  const double loop = teams(c) == 1 ? 95.4 : 22;
  const double issue = warps * (multiplications + loads + unpacking + promotion + copies + splitting + loop) / 4;

  constexpr double cycles_per_multiplication = 11.4;
  const double tensor = warps * multiplications * cycles_per_multiplication / 4;

  const double active_lanes = 32 * size.pair_share * terms(c);
  const double pair_wavefronts = 1 + active_lanes / 12;
  const double shared = warps * (c.warp_strips * 16 * pair_wavefronts + loads * 4) + teams(c) * stage_bytes / 128;
  constexpr double intake_bytes = 52;  // of copies, in a cycle
  const double intake = teams(c) == 1 ? 0 : teams(c) * stage_bytes / intake_bytes;
  return std::max({issue, tensor, shared, intake});
}

/// Lower bound on the cycles between two k blocks of one tile: the latency of a copy, divided by the stages in
/// flight, and what follows it.
double latency_cycles(const UnpackMmaConfig& c) {
  // A team of one warp waits for no other, but does everything one after the other.
  const double own = teams(c) == 1 ? 1126 : 300 + 180.0 * c.warp_strips;
  return 237.0 / (c.stages - 1) + own + (splits_dense(c) ? 150 : 0);
}

/// The share of strips that do not fit a stage: these are unpacked from memory, pair by pair.
double overflowing_share(const Sizes& size, const UnpackMmaConfig& c, double row_variation) {
  if (c.strip_pairs >= packed_most_pairs()) return 0;
  const double pairs = size.pair_share * packed_most_pairs();
  const double spread = std::sqrt(pairs * (1 - size.pair_share)) + 0.5 * row_variation * pairs + 1;
  return 0.5 * std::erfc((c.strip_pairs - pairs) / spread / std::numbers::sqrt2);
}

double memory_us(const SpmmQuery& query, const Sizes& size, const UnpackMmaConfig& c, const Machine& machine) {
  const double row_tiles = std::ceil(size.m / tile_rows(c));
  const double column_tiles = std::ceil(size.n / tile_columns(c));
  const double sets = query.problem.values_per_batch ? size.batch : 1;
  // Measured: 1.75 times as long where no strip fits.
  constexpr double overflow_factor = 0.75;
  const double overflow = 1 + overflow_factor * overflowing_share(size, c, query.statistics.row_variation);
  const double packed = size.strips * size.strip_bytes * overflow;
  const double dense = size.k * size.n * size_of(query.problem.element) * size.batch;
  const double output = size.m * size.n * size.output_bytes * size.batch;
  const double stored = size.m * size.n * stored_element_bytes(query) * size.batch;
  const double streaming = teams(c) == 1 ? 1.3 : 1;  // measured: strips come at three quarters of the memory bandwidth
  // Strips that do not fit L2 are read again for the next tile of columns, except what is still there: measured, 0.7 of
  // them.
  constexpr double read_again = 0.7;
  const double readings = packed > cached_bytes ? 1 + read_again * (column_tiles - 1) : 1;
  const double from_memory = (streaming * (packed * readings * sets + dense) + stored) / machine.memory_bytes_per_us;
  const double from_l2 = (packed * column_tiles * size.batch + dense * row_tiles) / l2_bytes_per_us(machine);
  return packed * sets + dense + output > cached_bytes ? std::max(from_memory, from_l2) : from_l2;
}

/// The launches other than the product's.
double other_launches_us(const SpmmQuery& query, const Sizes& size, const UnpackMmaConfig& c, const Machine& machine) {
  double us = 0;
  if (packs_in_workspace(query)) us += next_launch_us + packing_us(query, {.mode = c.mode}, false);
  const double prepared_bytes = size.batch * size.k * size.n * 8;
  if (c.prepare_dense)
    us += next_launch_us +
          prepared_bytes / (prepared_bytes < cached_bytes ? l2_bytes_per_us(machine) : machine.memory_bytes_per_us);
  if (c.k_split > 1)
    us += next_launch_us + 2.0 * static_cast<double>(partial_bytes(query, c)) / l2_bytes_per_us(machine);
  return us;
}

}  // namespace

double predict_us(const SpmmQuery& query, const UnpackMmaConfig& config) {
  const Machine machine = machine_of(query);
  const Sizes size = sizes_of(query, config);
  const double blocks =
      std::ceil(size.m / tile_rows(config)) * std::ceil(size.n / tile_columns(config)) * config.k_split * size.batch;
  const double resident = machine.multiprocessors * config.min_blocks;
  const double waves = std::max(1.0, std::ceil(blocks / resident));
  const double steps = std::ceil(static_cast<double>(slice_blocks(query, config)) / teams(config));
  const double together = std::min<double>(config.min_blocks, std::ceil(blocks / machine.multiprocessors));
  const double busy = together * block_cycles(size, config);
  const double waiting = latency_cycles(config);
  constexpr double exposed = 0.56;  // of the shorter: a block waits and works in turn, and others hide only part of it
  const double work = waves * steps * (std::max(busy, waiting) + exposed * std::min(busy, waiting));
  const double exchange_us = teams(config) == 1 ? 0 : 2;
  // f32 problems take longer than the steps add up to: three products depend on one another's sums, and on B being
  // split.
  const double of_f32 = config.prepare_dense ? 1.37 : 1.71;
  const double beside_counts = packed_splits(config.mode) ? of_f32 : teams(config) == 1 ? 1.11 : 1;
  // The copy engine helps less if memory is the limit than if issue slots are.
  const double work_share = config.bulk_strips ? 0.95 : 1, memory_share = config.bulk_strips ? 0.98 : 1;
  const double working_us = work_share * beside_counts * work / machine.cycles_per_us;
  return launch_us + exchange_us + std::max(working_us, memory_share * memory_us(query, size, config, machine)) +
         other_launches_us(query, size, config, machine) -
         (packed_splits(config.mode) ? 0 : hidden_start_us(query, blocks, resident, 0.3));
}

}  // namespace vostok::ops::unpack_mma
