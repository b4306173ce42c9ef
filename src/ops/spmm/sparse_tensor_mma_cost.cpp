// The cost model of sparse_tensor_mma, for ranking only: cycles of a k block on the tensor cores, the issue slots and
// the shared memory of an SM, the memory that all read, and the launches. Constants are instruction counts and an
// H200's rates; they were not fitted.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/sparse_tensor_mma.hpp"

namespace vostok::ops::sparse_tensor_mma {

namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// Cycles of an SM for one k block of one tile.
double block_cycles(const SpmmQuery& query, const SparseTensorMmaConfig& c) {
  constexpr double cycles_of_multiplication = 8.1;  // of one of four tensor cores
  constexpr double shared_bytes_per_cycle = 128;
  const double warps = threads(c) / 32.0;
  const double octets = c.warp_columns / 8.0;
  const double passes = sparse_steps() * sparse_tensor::expected_passes(query, packed_strip_rows());  // of a strip
  const double second_passes = std::max(0.0, passes - sparse_steps());
  const double multiplications = c.warp_strips * octets * passes;
  // The first pass of all strips shares B's fragments; a second pass reads its own.
  const double dense_reads = octets * (sparse_steps() + c.warp_strips * second_passes);
  const double tensor = warps * multiplications * cycles_of_multiplication / 4;
  constexpr double loop = 60;
  const double copies =
      (dense_stage_bytes(c) + tile_strips(c) * sparse_tensor::expected_strip_bytes(query)) / 16 / threads(c) * 5;
  const double issue = warps * (multiplications + dense_reads + c.warp_strips * passes * 5 + copies + loop) / 4;
  const double read = warps * (dense_reads * 512 + c.warp_strips * passes * sparse_pass_bytes());
  const double written = dense_stage_bytes(c) + tile_strips(c) * sparse_tensor::expected_strip_bytes(query);
  const double shared = (read + written) / shared_bytes_per_cycle;
  const double longest = std::max({tensor, issue, shared});
  return longest + 0.25 * (tensor + issue + shared - longest);
}

/// Lower bound on the cycles between two k blocks of one tile: the latency of a copy, divided by the stages in
/// flight, and what follows it.
double latency_cycles(const SparseTensorMmaConfig& c) { return 900.0 / (c.stages - 1) + 300; }

double memory_us(const SpmmQuery& query, const SparseTensorMmaConfig& c, const Machine& machine) {
  const TopologyStatistics& s = query.statistics;
  const double n = as_double(std::max<std::int64_t>(query.n.most, 1));
  const double batch = as_double(query.problem.batch);
  const double row_tiles = as_double(ceil_div(s.rows, tile_rows(c)));
  const double column_tiles = std::ceil(n / tile_columns(c));
  const double packed = as_double(ceil_div(s.rows, packed_strip_rows()) * sparse_tensor::k_blocks(query)) *
                        sparse_tensor::expected_strip_bytes(query);
  const double dense = as_double(s.cols) * n * 2 * batch;
  const double output = as_double(s.rows) * n * size_of(query.problem.output.value_or(query.problem.element)) * batch;
  const double from_memory = (packed * as_double(packed_sets(query)) + dense + output) / machine.memory_bytes_per_us;
  const double l2_bytes_per_us = 9e6 * machine.speed();
  return std::max(from_memory, (packed * column_tiles * batch + dense * row_tiles) / l2_bytes_per_us);
}

}  // namespace

double predict_us(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  constexpr double launch_us = 1.1;
  constexpr double start_us = 1.5;  // the first copies, and the last stores
  const Machine machine = machine_of(query);
  const double columns = as_double(ceil_div(std::max<std::int64_t>(query.n.most, 1), tile_columns(config)));
  const double blocks = as_double(ceil_div(query.statistics.rows, tile_rows(config))) * columns * config.k_split *
                        as_double(query.problem.batch);
  const double waves = std::max(1.0, std::ceil(blocks / (machine.multiprocessors * config.min_blocks)));
  const double together = std::min<double>(config.min_blocks, std::ceil(blocks / machine.multiprocessors));
  const double steps = as_double(sparse_tensor::slice_blocks(query, config.k_split));
  const double work = waves * steps * std::max(together * block_cycles(query, config), latency_cycles(config));
  constexpr double measured_over_model = 3.2;  // 8192x8192 at 95 and 97 %, 256 to 4096 columns, on an H200
  return without_overlap(query, 1.09) *
             (launch_us + start_us +
              std::max(measured_over_model * work / machine.cycles_per_us, memory_us(query, config, machine))) +
         sparse_tensor::other_launches_us(query, workspace(query, config).product, false);
}

}  // namespace vostok::ops::sparse_tensor_mma
