// Adds to the rules of the kernel (abi/row_strips.h) what only the problem or the device knows, and what cannot be
// fast.
#include <algorithm>
#include <array>

#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/sddmm/row_strips.hpp"
#include "ops/sddmm/sum_parts.hpp"

namespace vostok::ops::row_strips {

namespace {

using Case = ops::Case<SddmmQuery, RowStripsTraits, RowStripsConfig>;
using Rule = ops::Rule<Case>;

/// Lower bound on the registers for sums, the step's part of A, the loads in flight and their offsets; addresses,
/// counters and conversions need two dozen more.
int registers_needed(const Case& c) {
  const RowStripsConfig& config = c.config;
  const int vector_registers = std::max(1, config.dense_vector * size_of(c.traits.element) / 4);
  const int loaded = config.step_vectors * vector_registers * (config.overlap_batches ? 2 : 1);
  const int offset_registers = c.traits.wide_offsets ? 2 : 1;
  const int slots = std::max(1, config.strip_entries / config.threads_per_strip);
  const int held = config.column_path == ColumnPath::shuffle ? slots * offset_registers : 0;
  return config.strip_entries + config.step_vectors * config.dense_vector +
         config.loads_in_flight * (loaded + offset_registers) + held + (c.traits.blocked_sum ? slots : 0) + 24;
}

/// Ordered so that each may rely on those before it, and all on the kernel's.
constexpr std::array rules = {
    Rule{"dense_vector does not divide n",
         [](const Case& c) { return c.query.problem.n % c.config.dense_vector != 0; }},
    Rule{"the staged offsets do not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_any);
         }},
    Rule{"min_blocks blocks have more threads than a multiprocessor runs",
         [](const Case& c) {
           return threads(c.config) * c.config.min_blocks >
                  multiprocessor_of(c.query.device, least_multiprocessor).threads;
         }},
    Rule{"sums and loads in flight do not fit the registers that min_blocks leaves",
         [](const Case& c) {
           return registers_needed(c) > registers_of_thread(threads(c.config), c.config.min_blocks);
         }},
    Rule{"half of a step's elements or more would lie past n",
         [](const Case& c) {
           return step_length(c.config) > c.config.dense_vector &&
                  step_length(c.config) >= 2 * std::max<std::int64_t>(c.query.problem.n, 1);
         }},
    Rule{"more than half of a strip would stay empty in every row",
         [](const Case& c) {
           return c.config.strip_entries > 8 &&
                  c.config.strip_entries >= 2 * std::max<std::int64_t>(c.query.statistics.longest_row, 1);
         }},
    Rule{"n has fewer steps than n_split has parts",
         [](const Case& c) {
           return c.config.n_split > 1 && (c.config.n_split - 1) * part_length(c.query, c.config) >= c.query.problem.n;
         }},
    parts_fit<Case>,
    Rule{"there is nothing to overlap: loads_in_flight covers the strip",
         [](const Case& c) { return c.config.overlap_batches && c.config.loads_in_flight == c.config.strip_entries; }},
};

}  // namespace

std::optional<std::string> forbidden(const SddmmQuery& query, const RowStripsConfig& config) {
  return to_reason(reason_against(Case{query, traits(query), config}, rules));
}

}  // namespace vostok::ops::row_strips
