// Adds to the rules of the kernel (abi/sparse_vector.h) what only the problem or the device knows, and what cannot be
// fast.
#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/spmm/sparse_vector.hpp"
#include "ops/topology/packed_runs.hpp"

namespace vostok::ops::sparse_vector {

namespace {

using Case = ops::Case<SpmmQuery, SparseVectorTraits, SparseVectorConfig>;
using Rule = ops::Rule<Case>;

/// Lower bound on a thread's registers for a run's words and the sums; addresses and counters need some more.
int registers_needed(const SparseVectorTraits& traits, const SparseVectorConfig& c) {
  const int run = run_slots() * (8 * size_of(traits.element) + c.gap_bits) / 32;
  constexpr int addresses = 24;
  return run * (c.load_ahead ? 2 : 1) + 3 * c.columns + addresses;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{"columns is at least n", [](const Case& c) { return c.config.columns < c.query.n.most; }},
    Rule{"dense_rows holds k", [](const Case& c) { return c.config.dense_rows < c.query.statistics.cols; }},
    Rule{"half of the columns or more would lie past the last one",
         [](const Case& c) { return c.config.columns > 1 && c.config.columns >= 2 * c.query.n.most; }},
    Rule{"a row's escapes would be more than twice its nonzeros, or the mask is not what packed runs hold",
         [](const Case& c) { return packed_runs_declined(c.query.statistics, c.config.gap_bits).has_value(); }},
    Rule{"B does not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_any);
         }},
    Rule{"a multiprocessor's shared memory, threads or registers are fewer than min_blocks blocks have",
         [](const Case& c) { return c.config.min_blocks > std::max(1, resident_blocks(c.query, c.config)); }},
    Rule{"a run does not fit a thread's registers",
         [](const Case& c) {
           return registers_needed(c.traits, c.config) * c.config.threads > multiprocessor_registers();
         }},
    Rule{"the grid's x holds fewer tiles than there are",
         [](const Case& c) { return ceil_div(c.query.statistics.rows, c.config.tile_rows) > most_blocks_on_x; }},
    Rule{"the grid's y and z hold fewer products than the batch has",
         [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y; }},
    Rule{"several warps would share a row that has fewer runs than half of their lanes",
         [](const Case& c) {
           const TopologyStatistics& s = c.query.statistics;
           const double runs = expected_slots(s, c.config.gap_bits) / run_slots() /
                               static_cast<double>(std::max<std::int64_t>(s.rows, 1));
           return c.config.lanes_per_row > 32 && 2 * runs < c.config.lanes_per_row;
         }},
};

}  // namespace

int resident_blocks(const SpmmQuery& query, const SparseVectorConfig& config) {
  const SparseVectorTraits t = traits(query);
  const int registers = std::min(registers_needed(t, config), most_thread_registers);
  return multiprocessor_of(query.device, least_multiprocessor)
      .resident_blocks(config.threads, registers, shared_bytes(t, config));
}

std::optional<std::string> declines(const SpmmQuery& query) {
  const TopologyStatistics& s = query.statistics;
  if (s.nonzeros == 0) return "A has no nonzeros";
  if (query.n.most > most_columns)
    return "n is past 4: this family waits for the bytes of A, and others read them as seldom";
  if (auto reason = packed_runs_declined(s, 8)) return reason;
  return nothing_admitted([&] { return smallest_config(query); }, [&] { return default_config(query); },
                          [&](const SparseVectorConfig& config) { return forbidden(query, config); });
}

bool admits(const SpmmQuery& query, const SparseVectorConfig& config) {
  return reason_against(Case{query, traits(query), config}, rules) == nullptr;
}

std::optional<std::string> forbidden(const SpmmQuery& query, const SparseVectorConfig& config) {
  return to_reason(reason_against(Case{query, traits(query), config}, rules));
}

}  // namespace vostok::ops::sparse_vector
