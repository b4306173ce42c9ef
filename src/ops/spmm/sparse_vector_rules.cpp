// The rules of sparse_vector: each a reason and when it holds. They repeat the kernel's own static_asserts, add what
// only the problem or the device knows, and exclude what cannot be fast.
#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/shared_memory.hpp"
#include "ops/spmm/sparse_vector.hpp"
#include "ops/topology/packed_runs.hpp"

namespace vostok::ops::sparse_vector {

namespace {

struct Case {
  const SpmmQuery& query;
  SparseVectorTraits traits;
  const SparseVectorConfig& config;
};

struct Rule {
  const char* reason;
  bool (*breaks)(const Case&);
};

bool is_power_of_two(int value, int least, int most) { return value >= least && value <= most && (value & (value - 1)) == 0; }

int shared_of_multiprocessor(const device::Device* device) { return device != nullptr ? device->shared_bytes_per_multiprocessor() : 64 * 1024; }
int threads_of_multiprocessor(const device::Device* device) { return device != nullptr ? device->threads_per_multiprocessor() : 1024; }

/// Lower bound on a thread's registers for a run's words and the sums; addresses and counters need some more.
int registers_needed(const SparseVectorTraits& traits, const SparseVectorConfig& c) {
  const int run = run_slots() * (8 * size_of(traits.element) + c.gap_bits) / 32;
  constexpr int addresses = 24;
  return run * (c.load_ahead ? 2 : 1) + 3 * c.columns + addresses;
}

/// Ordered so that each may rely on those before it. The first group repeats the kernel's own rules.
constexpr std::array rules = {
    Rule{"gaps have 4 or 8 bits", [](const Case& c) { return c.config.gap_bits != 4 && c.config.gap_bits != 8; }},
    Rule{"columns is 1, 2 or 4, and at least n",
         [](const Case& c) { return !is_power_of_two(c.config.columns, 1, most_columns) || c.config.columns < c.query.n.most; }},
    Rule{"half of the columns or more would lie past the last one",
         [](const Case& c) { return c.config.columns > 1 && c.config.columns >= 2 * c.query.n.most; }},
    Rule{"a block has a power of two of 32 to 1024 threads", [](const Case& c) { return !is_power_of_two(c.config.threads, 32, 1024); }},
    Rule{"lanes_per_row is a power of two from 4 to the block's threads",
         [](const Case& c) { return !is_power_of_two(c.config.lanes_per_row, 4, c.config.threads); }},
    Rule{"f32 is wide", [](const Case& c) { return !c.config.wide_dense && c.traits.element == Dtype::f32; }},
    Rule{
        "dense_rows is a multiple of 8 that holds k",
        [](const Case& c) { return c.config.dense_rows % 8 != 0 || c.config.dense_rows < c.query.statistics.cols || c.config.dense_rows > 1 << 17; }},
    Rule{"tile_rows is a multiple of the rows that a block has under way",
         [](const Case& c) { return c.config.tile_rows < 1 || c.config.tile_rows > 1 << 24 || c.config.tile_rows % rows_together(c.config) != 0; }},
    Rule{"min_blocks is 1 to 32", [](const Case& c) { return c.config.min_blocks < 1 || c.config.min_blocks > 32; }},
    Rule{"a row's escapes would be more than twice its nonzeros, or the mask is not what packed runs hold",
         [](const Case& c) { return packed_runs_declined(c.query.statistics, c.config.gap_bits).has_value(); }},
    Rule{"B does not fit the device's shared memory",
         [](const Case& c) { return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query, block_shared_bytes_of_any); }},
    Rule{"a multiprocessor's shared memory, threads or registers are fewer than min_blocks blocks have",
         [](const Case& c) { return c.config.min_blocks > std::max(1, resident_blocks(c.query, c.config)); }},
    Rule{"a run does not fit a thread's registers",
         [](const Case& c) { return registers_needed(c.traits, c.config) * c.config.threads > 64 * 1024; }},
    Rule{"the grid's x holds fewer tiles than there are",
         [](const Case& c) { return ceil_div(c.query.statistics.rows, c.config.tile_rows) > most_blocks_on_x; }},
    Rule{"the grid's y and z hold fewer products than the batch has",
         [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y; }},
    Rule{"several warps would share a row that has fewer runs than half of their lanes",
         [](const Case& c) {
           const TopologyStatistics& s = c.query.statistics;
           const double runs = expected_slots(s, c.config.gap_bits) / run_slots() / static_cast<double>(std::max<std::int64_t>(s.rows, 1));
           return c.config.lanes_per_row > 32 && 2 * runs < c.config.lanes_per_row;
         }},
};

}  // namespace

int resident_blocks(const SpmmQuery& query, const SparseVectorConfig& config) {
  constexpr int reserved_bytes = 1024;  // of shared memory, for each block
  constexpr int registers = 64 * 1024;
  constexpr int register_step = 8;
  const SparseVectorTraits t = traits(query);
  const int thread_registers = static_cast<int>(round_up(std::min(registers_needed(t, config), 255), register_step));
  return std::min({shared_of_multiprocessor(query.device) / (shared_bytes(t, config) + reserved_bytes),
                   threads_of_multiprocessor(query.device) / config.threads, registers / (config.threads * thread_registers)});
}

std::optional<std::string> declines(const SpmmQuery& query) {
  const TopologyStatistics& s = query.statistics;
  if (s.nonzeros == 0) return "A has no nonzeros";
  if (query.n.most > most_columns) return "n is past 4: this family waits for the bytes of A, and others read them as seldom";
  if (auto reason = packed_runs_declined(s, 8)) return reason;
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const SparseVectorConfig& config) { return forbidden(query, config); });
}

bool admits(const SpmmQuery& query, const SparseVectorConfig& config) {
  return first_broken(rules, Case{query, traits(query), config}) == rules.end();
}

std::optional<std::string> forbidden(const SpmmQuery& query, const SparseVectorConfig& config) {
  return reason_against(rules, Case{query, traits(query), config});
}

}  // namespace vostok::ops::sparse_vector
