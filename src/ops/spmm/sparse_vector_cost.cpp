// The cost model of sparse_vector, for ranking only: the bytes of A, the wavefronts of shared memory, the decoding
// instructions, and the latency of one lane's loads one after another. Constants are instruction counts and an H200's
// rates; they were not fitted.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/sparse_vector.hpp"
#include "ops/topology/packed_runs.hpp"

namespace vostok::ops::sparse_vector {

namespace {

double l2_bytes_per_us(const Machine& machine) { return 18.3e6 * machine.speed(); }

/// Wavefronts of a warp's load of 32 random slots: the depth of the fullest bank for each part of the warp, summed over
/// the parts.
double slot_wavefronts(int bytes) { return bytes <= 4 ? 3.5 : bytes == 8 ? 6.2 : 10.4; }

/// Sizes as real numbers.
struct Sizes {
  double rows, batch, sets, slots, row_runs, run_bytes, element_bytes;
};

Sizes sizes_of(const SpmmQuery& query, const SparseVectorConfig& c) {
  const TopologyStatistics& s = query.statistics;
  const auto rows = static_cast<double>(std::max<std::int64_t>(s.rows, 1));
  const double slots = std::max(expected_slots(s, c.gap_bits), 1.0);
  const double element_bytes = size_of(query.problem.element);
  return {.rows = rows,
          .batch = static_cast<double>(query.problem.batch),
          .sets = query.problem.values_per_batch ? static_cast<double>(query.problem.batch) : 1,
          .slots = slots,
          .row_runs = slots / run_slots() / rows,
          .run_bytes = run_slots() * (element_bytes + c.gap_bits / 8.0) + 2,
          .element_bytes = element_bytes};
}

/// Microseconds of memory, or of L2 if everything stays there, for this many bytes.
double read_us(double bytes, const Machine& machine) {
  return bytes > cached_bytes ? bytes / machine.memory_bytes_per_us : bytes / l2_bytes_per_us(machine);
}

/// Instructions of a lane for each slot.
double slot_instructions(const SparseVectorTraits& t, const SparseVectorConfig& c) {
  constexpr double address_and_load = 2;
  constexpr double splitting = 0.6;
  const double conversions = (t.element == Dtype::f32 ? 0 : 1) + (c.wide_dense ? 0 : c.columns);
  return address_and_load + splitting + conversions + c.columns;
}

}  // namespace

double predict_us(const SpmmQuery& query, const SparseVectorConfig& config) {
  const Machine machine = machine_of(query);
  const Sizes size = sizes_of(query, config);
  const SparseVectorTraits t = traits(query);
  const double blocks = std::ceil(size.rows / config.tile_rows) * size.batch;
  const double waves = std::max(1.0, std::ceil(blocks / (machine.multiprocessors * config.min_blocks)));
  const double busy =
      std::min(1.0, blocks / machine.multiprocessors);  // share of the multiprocessors that have a block

  const double runs = size.slots / run_slots();
  const double memory = read_us(runs * size.run_bytes * size.sets, machine) +
                        (size.batch - size.sets) * runs * size.run_bytes / l2_bytes_per_us(machine);
  const double warps_of_slots = size.slots * size.batch / 32;
  const double wavefronts = slot_wavefronts(slot_bytes(t, config)) + size.run_bytes / 128;
  const double l1 = warps_of_slots * wavefronts / machine.multiprocessors / busy / machine.cycles_per_us;
  const double steps = std::ceil(size.row_runs / config.lanes_per_row);
  const double lanes_busy = size.row_runs / (steps * config.lanes_per_row);
  const double issue = warps_of_slots * slot_instructions(t, config) / lanes_busy / 4 / machine.multiprocessors / busy /
                       machine.cycles_per_us;

  constexpr double load_us = 0.75;  // until a run has arrived
  constexpr double turn_us = 0.12;  // a row's sums, its epilogue
  const double turns = std::ceil(static_cast<double>(config.tile_rows) / rows_together(config));
  const double run_us = run_slots() * slot_instructions(t, config) * 4 / machine.cycles_per_us / 2;
  const double latency =
      waves * turns * (steps * ((config.load_ahead ? 0.5 : 1.0) * load_us + run_us) + turn_us * row_warps(config));

  const double staged_bytes =
      static_cast<double>(query.statistics.cols) * static_cast<double>(query.n.most) * size.element_bytes;
  constexpr double staging_us = 0.9;
  const double staging = waves * staging_us + blocks * staged_bytes / l2_bytes_per_us(machine);
  const double longest = std::max({memory, l1, issue, latency});
  constexpr double overlap_loss = 0.2;
  constexpr double launch_us = 1.1;
  double us = launch_us + staging + longest + overlap_loss * (memory + l1 + issue + latency - longest);
  constexpr double next_launch_us = 1.2;
  if (packs_in_workspace(query))
    us += next_launch_us + size.slots * size.sets * (1 + 2 * size.element_bytes) / machine.memory_bytes_per_us;
  return us;
}

}  // namespace vostok::ops::sparse_vector
