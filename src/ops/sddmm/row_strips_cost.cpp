// The cost model of row_strips: what L1 and L2 must hand out, and the latency of a strip. From the machine's figures
// (bench/NOTES.md) and a factor fitted to five problems: it ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/machine.hpp"
#include "ops/sddmm/row_strips.hpp"

namespace vostok::ops::row_strips {

namespace {

/// What L2 hands out in a microsecond.
double l2_bytes_per_us(const Machine& machine) { return 6e6 * machine.speed(); }

/// The share of loads of B's rows that miss L1: entries that name the same row meet there, among all that are resident or, in
/// bands, among the strips of a block, which cover the same columns in as many rows.
double missed_share(const SddmmQuery& query, const RowStripsConfig& c) {
  const auto cols = static_cast<double>(std::max<std::int64_t>(query.statistics.cols, 1));
  const double resident_entries = static_cast<double>(c.min_blocks) * c.strips_per_block * c.strip_entries;
  const double anywhere = (1 - std::exp(-resident_entries / cols)) * cols / resident_entries;
  if (!c.column_bands) return anywhere;
  const double density = std::clamp(query.statistics.mean_row / cols, 1e-6, 1.0);
  return std::min(anywhere, (1 - std::pow(1 - density, c.strips_per_block)) / (density * c.strips_per_block));
}

/// Microseconds in which the operands come from memory, where L2 does not hold them.
double memory_us(const SddmmQuery& query, const Machine& machine) {
  constexpr double cached_bytes = 4e7;
  const TopologyStatistics& s = query.statistics;
  const auto rows = static_cast<double>(std::min(s.rows, s.nonzeros) + std::min(s.cols, s.nonzeros));
  const double bytes = rows * static_cast<double>(query.problem.n * query.problem.batch) * size_of(query.problem.element);
  return bytes < cached_bytes ? 0 : bytes / machine.memory_bytes_per_us;
}

}  // namespace

double predict_us(const SddmmQuery& query, const RowStripsConfig& config) {
  const Machine machine = machine_of(query);
  const double mean_row = std::max(query.statistics.mean_row, 1.0);
  const auto nonzeros = static_cast<double>(std::max<std::int64_t>(query.statistics.nonzeros, 1) * query.problem.batch);
  const auto n = static_cast<double>(query.problem.n);
  const auto element_bytes = static_cast<double>(size_of(query.problem.element));
  const double strips = nonzeros / mean_row * std::ceil(mean_row / config.strip_entries);
  const double steps = std::ceil(n / step_length(config));

  const double padded_n = steps * step_length(config);
  const double l1 = (nonzeros + strips) * padded_n * element_bytes / 128 / machine.multiprocessors / machine.cycles_per_us;
  const double l2 = nonzeros * n * element_bytes * missed_share(query, config) / l2_bytes_per_us(machine);

  constexpr double batch_us = 0.2;  // the latency of L2, and what waits before it
  constexpr double start_us = 0.8;  // strip, columns and A are one after the other
  const double filled = std::min<double>(config.strip_entries, mean_row);
  const double batch = config.loads_in_flight * (config.overlap_batches ? 2.0 : 1.0);
  const double strip_us = start_us + std::ceil(steps / config.n_split) * std::ceil(filled / batch) * batch_us;
  const double resident_strips = machine.multiprocessors * config.min_blocks * config.strips_per_block;
  const double latency = strip_us * std::max(1.0, strips * config.n_split / resident_strips);

  constexpr double launch_us = 1.5;
  constexpr double overlap_loss = 0.25;  // resources are never used perfectly beside one another
  const double memory = memory_us(query, machine);
  const double longest = std::max({l1, l2, latency, memory});
  constexpr double measured = 1.55;  // over this model, at half-full masks of 512 to 2048 rows and n of 256 and 2048 on an H200
  const double parts = config.n_split > 1 ? launch_us + nonzeros * 4 * (config.n_split + 1) / l2_bytes_per_us(machine) : 0;
  return launch_us + measured * (longest + overlap_loss * (l1 + l2 + latency + memory - longest)) + parts;
}

}  // namespace vostok::ops::row_strips
