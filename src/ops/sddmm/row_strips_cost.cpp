// The cost model of row_strips: what L1 and L2 must hand out, and the latency of a strip. From the machine's figures
// (bench/NOTES.md), not fitted yet: it ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/sddmm/row_strips.hpp"

namespace vostok::ops::row_strips {

namespace {

struct Machine {
  double multiprocessors = 132;
  double cycles_per_us = 1900;
  double l2_bytes_per_us = 6e6;
};

Machine machine_of(const SddmmQuery& query) {
  Machine machine;
  if (query.device == nullptr || !query.device->info().gpu) return machine;
  const DeviceInfo& info = query.device->info();
  const Machine reference;
  if (info.multiprocessors > 0) machine.multiprocessors = info.multiprocessors;
  if (info.clock_mhz > 0) machine.cycles_per_us = info.clock_mhz;
  machine.l2_bytes_per_us *= machine.multiprocessors / reference.multiprocessors * machine.cycles_per_us / reference.cycles_per_us;
  return machine;
}

/// The share of B's rows that a multiprocessor's resident entries load from L2: entries that name the same row meet in L1.
double missed_share(const SddmmQuery& query, const RowStripsConfig& c) {
  const double resident_entries = static_cast<double>(c.min_blocks) * c.strips_per_block * c.strip_entries;
  const auto rows_of_rhs = static_cast<double>(std::max<std::int64_t>(query.statistics.cols, 1));
  return (1 - std::exp(-resident_entries / rows_of_rhs)) * rows_of_rhs / resident_entries;
}

}  // namespace

double predict_us(const SddmmQuery& query, const RowStripsConfig& config) {
  const Machine machine = machine_of(query);
  const double mean_row = std::max(query.statistics.mean_row, 1.0);
  const auto nonzeros = static_cast<double>(std::max<std::int64_t>(query.statistics.nonzeros, 1) * query.problem.batch);
  const auto n = static_cast<double>(query.problem.n);
  const auto element_bytes = static_cast<double>(size_of(query.problem.element));
  const double strips_per_row = std::ceil(mean_row / config.strip_entries);
  const double strips = nonzeros / mean_row * strips_per_row;
  const double steps = std::ceil(n / step_length(config));

  const double padded_n = steps * step_length(config);
  const double dense_bytes = nonzeros * padded_n * element_bytes + strips * padded_n * element_bytes;
  const double l1 = dense_bytes / 128 / machine.multiprocessors / machine.cycles_per_us;
  const double l2 = nonzeros * n * element_bytes * missed_share(query, config) / machine.l2_bytes_per_us;

  constexpr double batch_us = 0.35;  // the latency of L2, and what waits before it
  constexpr double start_us = 0.8;   // strip, columns and A are one after the other
  const double filled = std::min<double>(config.strip_entries, mean_row);
  const double batch = config.loads_in_flight * (config.overlap_batches ? 2.0 : 1.0);
  const double strip_us = start_us + steps * std::ceil(filled / batch) * batch_us;
  const double resident_strips = machine.multiprocessors * config.min_blocks * config.strips_per_block;
  const double latency = strip_us * std::max(1.0, strips / resident_strips);

  constexpr double launch_us = 1.5;
  constexpr double overlap_loss = 0.25;  // resources are never used perfectly beside one another
  const double longest = std::max({l1, l2, latency});
  return launch_us + longest + overlap_loss * (l1 + l2 + latency - longest);
}

}  // namespace vostok::ops::row_strips
