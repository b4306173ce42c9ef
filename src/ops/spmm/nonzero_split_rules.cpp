// The rules of nonzero_split: each a reason and when it holds. They repeat the kernels' own static_asserts and add what
// only the problem or the device knows.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/shared_memory.hpp"
#include "ops/spmm/csr_rules.hpp"
#include "ops/spmm/nonzero_split.hpp"

namespace vostok::ops::nonzero_split {

namespace {

using csr_product::is_power_of_two_up_to;
using Case = csr_product::Case<NonzeroSplitConfig>;
using Rule = csr_product::Rule<NonzeroSplitConfig>;

/// Tiles of the whole batch in the direction that varies slowly.
std::int64_t slow_tiles(const Case& c, Raster raster, int tile_columns) {
  return (raster == Raster::rows_first ? ceil_div(c.query.n.most, tile_columns) : block_count(c.query, c.config)) * c.query.problem.batch;
}

/// Registers besides loads of B and sums, counted in compiled kernels: the walk through rows, entries in flight from
/// memory, and what stores of rows add, since these come between the loads of a batch and its products.
std::int64_t further_registers(const Case& c) {
  constexpr std::int64_t walk = 32;
  const NonzeroSplitConfig& config = c.config;
  const NonzeroSplitTraits& t = c.traits;
  const std::int64_t entries = ceil_div(config.tile_nonzeros, std::int64_t{config.threads_per_row} * config.sparse_vector) * config.sparse_vector;
  const bool adds = t.residual || t.accumulate;
  const bool curved = t.activation != Activation::none && t.activation != Activation::relu;
  return walk + entries * (gathers_values(t, config) ? 4 : 2) + (adds ? 2 * config.dense_vector : 0) + (curved ? 8 : 0) +
         (t.wide_offsets ? config.loads_in_flight : 0);
}

bool exceeds_registers(const Case& c) {
  const int entries = c.config.loads_in_flight * (c.config.overlap_batches ? 2 : 1);
  return csr_product::registers_needed(c, entries) + further_registers(c) > csr_product::register_limit(c);
}

// In the order of checking, the shared ones in between: each may rely on those before it.

constexpr std::array shape_rules = {
    Rule{"the lanes of a chunk lie in one warp: threads_per_row is a power of two of at most 32",
         [](const Case& c) { return !is_power_of_two_up_to(c.config.threads_per_row, 32); }},
    Rule{"a block has 1 to 32 whole warps",
         [](const Case& c) {
           return c.config.chunks_per_block < 1 || c.config.chunks_per_block > 1024 || threads(c.config) % 32 != 0 || threads(c.config) > 1024;
         }},
    Rule{"chunk_items is 1 to 4096", [](const Case& c) { return c.config.chunk_items < 1 || c.config.chunk_items > 4096; }},
};

constexpr std::array step_rules = {
    Rule{"tile_nonzeros is a power of two from 4 and sparse_vector to 256",
         [](const Case& c) {
           return !is_power_of_two_up_to(c.config.tile_nonzeros, 256) || c.config.tile_nonzeros < std::max(c.config.sparse_vector, 4);
         }},
    Rule{"loads_in_flight is a power of two of at most 16 that divides tile_nonzeros",
         [](const Case& c) { return !is_power_of_two_up_to(c.config.loads_in_flight, std::min(c.config.tile_nonzeros, 16)); }},
};

constexpr std::array size_rules = {
    Rule{"the grid's y and z hold fewer tiles than the batch has",
         [](const Case& c) {
           const SplitRowsConfig rows = split_rows_config(c.config);
           const std::int64_t most = std::max(slow_tiles(c, c.config.raster, c.config.tile_columns), slow_tiles(c, rows.raster, rows.tile_columns));
           return most > most_blocks_on_y * most_blocks_on_y;
         }},
    Rule{"the staged entries and pieces do not fit the device's shared memory",
         [](const Case& c) { return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query, block_shared_bytes_of_any); }},
    Rule{"the loads in flight do not fit the registers that min_blocks leaves", [](const Case& c) { return exceeds_registers(c); }},
};

}  // namespace

bool fits_registers(const SpmmQuery& query, const NonzeroSplitConfig& config) { return !exceeds_registers({query, traits(query), config}); }

std::optional<std::string> forbidden(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  const Case c{query, traits(query), config};
  if (auto reason = reason_against(shape_rules, c)) return reason;
  if (auto reason = reason_against(csr_product::operand_rules<NonzeroSplitConfig>, c)) return reason;
  if (auto reason = reason_against(step_rules, c)) return reason;
  if (auto reason = reason_against(csr_product::resource_rules<NonzeroSplitConfig>, c)) return reason;
  return reason_against(size_rules, c);
}

}  // namespace vostok::ops::nonzero_split
