// The cost model of row_strips: what L1 and L2 must hand out, what a multiprocessor issues, and the latency of a strip.
// Constants stand for an H200, fitted to 6,200 trials of 111 problems of 32-bit elements
// (bench/notes/cost_models.md#fitted-to-their-trials): it ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/sddmm/row_strips.hpp"

namespace vostok::ops::row_strips {

namespace {

/// Bytes that L2 delivers in a microsecond.
double l2_bytes_per_us(const Machine& machine) { return 6e6 * machine.speed(); }

/// Share of the loads of B's rows that miss L1. Entries that name the same row share its line: among all resident
/// entries or, in bands, among the strips of a block, which cover the same columns in as many rows.
double missed_share(const SddmmQuery& query, const RowStripsConfig& c) {
  const auto cols = static_cast<double>(std::max<std::int64_t>(query.statistics.cols, 1));
  const double resident_entries = static_cast<double>(c.min_blocks) * c.strips_per_block * c.strip_entries;
  const double anywhere = (1 - std::exp(-resident_entries / cols)) * cols / resident_entries;
  if (!c.column_bands) return anywhere;
  const double density = std::clamp(query.statistics.mean_row / cols, 1e-6, 1.0);
  return std::min(anywhere, (1 - std::pow(1 - density, c.strips_per_block)) / (density * c.strips_per_block));
}

/// Microseconds of loading the operands from memory, if L2 does not hold them.
double memory_us(const SddmmQuery& query, const Machine& machine) {
  const TopologyStatistics& s = query.statistics;
  const auto rows = static_cast<double>(std::min(s.rows, s.nonzeros) + std::min(s.cols, s.nonzeros));
  const double bytes =
      rows * static_cast<double>(query.problem.n * query.problem.batch) * size_of(query.problem.element);
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
  const double loads = (nonzeros + strips) * padded_n / config.dense_vector;

  // A strip's lanes load a line of 128 bytes from L1, or less of one.
  constexpr double line_bytes = 128;
  const double asked_share = std::min(1.0, config.threads_per_strip * config.dense_vector * element_bytes / line_bytes);
  const double l1_us = loads * config.dense_vector * element_bytes / asked_share / line_bytes /
                       machine.multiprocessors / machine.cycles_per_us;
  const double l2_us = nonzeros * n * element_bytes * missed_share(query, config) / l2_bytes_per_us(machine);

  constexpr double load_instructions = 12.5;  // of a lane, besides those for each element
  constexpr double padding_instructions = 4;  // of each place in a strip, filled or not
  constexpr double halving_instructions = 1;  // of reducing over a strip's lanes
  const double element_instructions = query.problem.element == Dtype::f32 ? 1 : 2;
  const double places = strips * config.strip_entries;
  const double instructions =
      loads * (load_instructions + config.dense_vector * element_instructions) +
      places * padded_n / config.dense_vector * padding_instructions +
      places * config.n_split * config.threads_per_strip * std::log2(config.threads_per_strip) * halving_instructions;
  const double issue_us = instructions / (128 * machine.multiprocessors * machine.cycles_per_us);

  constexpr double batch_us = 0.18;  // L2 latency, and what precedes it
  const double filled = std::min<double>(config.strip_entries, mean_row);
  const double batch = config.loads_in_flight * (config.overlap_batches ? 2.0 : 1.0);
  const double resident_strips = machine.multiprocessors * config.min_blocks * config.strips_per_block;
  const double waves = std::max(1.0, strips * config.n_split / resident_strips);
  const double waiting_us = batch_us * std::ceil(steps / config.n_split) * std::ceil(filled / batch) * waves;

  constexpr double start_us = 1.15;
  constexpr double place_us = 0.044;  // of each entry for which a strip has room: its columns and its sum
  constexpr double l1_share = 0.48;   // share that the other resources do not hide
  constexpr double l2_share = 0.17;
  constexpr double parts_us = 1.0;  // the launch that adds parts
  const double work_us = l1_share * l1_us + l2_share * l2_us + issue_us + waiting_us;
  return start_us + place_us * config.strip_entries + std::max(work_us, memory_us(query, machine)) +
         (config.n_split > 1 ? parts_us : 0);
}

}  // namespace vostok::ops::row_strips
