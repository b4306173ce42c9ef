// The cost model of sparse_tensor_wgmma: what a k block costs each resource of a multiprocessor, how many there are one
// after the other, and the launches around. Constants stand for an H200, fitted to what 101 problems of 16-bit elements
// took there (bench/notes/cost_models.md#clusters-and-products-of-16-bits).
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/sparse_tensor_wgmma.hpp"
#include "ops/spmm/stage_ring.hpp"

namespace vostok::ops::sparse_tensor_wgmma {

namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// Cycles of one block's k block on each resource, and of its longest chain of dependent instructions.
struct BlockCycles {
  double tensor;
  double issue;
  double memory;
  double chain;
};

BlockCycles cycles_of(const SpmmQuery& query, const SparseTensorWgmmaConfig& c) {
  constexpr double cycles_of_columns =
      0.79;  // of a 64 x 32 multiplication, for each column: reading B from shared memory
  constexpr double load_instructions = 45;
  constexpr double copy_instructions = 7;
  constexpr double barrier_latency = 75;
  constexpr double unstaged_latency = 860;  // of a pass that does not fit its stage: the tile waits for global memory
  constexpr double memory_bytes_per_cycle = 22;  // an SM's share of the memory bandwidth
  const double l2_bytes_per_cycle = copies_by_threads(c) ? 31 : 46;
  const double passes =
      sparse_steps() * sparse_tensor::expected_passes(query, packed_strip_rows() * sparse_tile_strips());
  const double multiplications = passes * c.tile_columns * cycles_of_columns;
  const double copies = copies_by_threads(c) ? c.tile_columns * split_line_bytes() / 16.0 : 0;
  const double strips = tile_strips(c) * sparse_tensor::expected_strip_bytes(query);
  const double memory = c.tile_columns * split_line_bytes() / l2_bytes_per_cycle +
                        strips / (query.policy == Policy::cold ? memory_bytes_per_cycle : l2_bytes_per_cycle);
  const double unstaged = std::max(0.0, passes - c.strip_passes);
  const double chain = multiplications + barrier_latency + unstaged * unstaged_latency;
  const double ring = ring_cycles(chain, memory, c.stages, as_double(sparse_tensor::slice_blocks(query, c.k_split)));
  return {.tensor = c.warpgroups * multiplications,
          .issue = c.warpgroups * (load_instructions + passes * 14) + copies / 32 * copy_instructions / 4,
          .memory = memory,
          .chain = std::max(chain, ring)};
}

/// Cycles of a k block with `blocks` resident blocks on the SM.
double shared_cycles(const BlockCycles& block, int blocks) {
  constexpr double overlap_loss = 0.05;  // resources never overlap perfectly
  const double tensor = blocks * block.tensor;
  const double issue = blocks * block.issue;
  const double memory = blocks * block.memory;
  const double longest = std::max({tensor, issue, memory, block.chain});
  return longest + overlap_loss * (tensor + issue + memory + block.chain - longest);
}

}  // namespace

double predict_us(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  constexpr double launch_us = 1.25;
  constexpr double start_cycles = 1600;  // barriers, the first copies
  const Machine machine = machine_of(query);
  const TopologyStatistics& s = query.statistics;
  const double n = as_double(std::max<std::int64_t>(query.n.most, 1));
  const double batch = as_double(query.problem.batch);
  const double blocks =
      as_double(ceil_div(s.rows, tile_rows(config))) * std::ceil(n / config.tile_columns) * config.k_split * batch;
  const double multiprocessors = machine.clustered_multiprocessors(tile_parts(config).blocks);
  const double resident = multiprocessors * config.min_blocks;
  const double full_waves = std::floor(blocks / resident);
  const double rest = blocks - full_waves * resident;
  const BlockCycles block = cycles_of(query, config);
  constexpr double cluster_cycles = 1350;  // two barriers, and exchange of sums between SMs
  const TileParts parts = tile_parts(config);
  const double exchange_cycles = parts.blocks == 1 ? 0 : cluster_cycles + parts.bytes() / 28.0;
  constexpr double stores_per_cycle = 2.2;  // elements of C: a store fills only part of each line
  const double store_cycles =
      350 + exchange_cycles + tile_rows(config) * config.tile_columns / stores_per_cycle / parts.blocks;
  const double steps = as_double(sparse_tensor::slice_blocks(query, config.k_split));
  const auto wave_cycles = [&](int together) {
    return steps * shared_cycles(block, together) + start_cycles + store_cycles * together;
  };
  double cycles = full_waves * wave_cycles(config.min_blocks);
  if (rest > 0) cycles += wave_cycles(static_cast<int>(std::ceil(rest / multiprocessors)));
  const double packed = as_double(ceil_div(s.rows, packed_strip_rows()) * sparse_tensor::k_blocks(query)) *
                        sparse_tensor::expected_strip_bytes(query);
  const double output = as_double(s.rows) * n * size_of(query.problem.output.value_or(query.problem.element)) * batch;
  const double from_memory_us = (packed * as_double(packed_sets(query)) + as_double(s.cols) * n * 2 * batch + output) /
                                machine.memory_bytes_per_us;
  return without_overlap(query, 1.05) * (launch_us + std::max(cycles / machine.cycles_per_us, from_memory_us)) +
         sparse_tensor::other_launches_us(query, workspace(query, config).product, crowds_packing(blocks, resident));
}

}  // namespace vostok::ops::sparse_tensor_wgmma
