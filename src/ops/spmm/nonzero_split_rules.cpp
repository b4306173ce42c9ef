// Adds to the rules of the kernel (abi/nonzero_split.h) what only the problem or the device knows.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/spmm/csr_rules.hpp"
#include "ops/spmm/nonzero_split.hpp"

namespace vostok::ops::nonzero_split {

namespace {

using Case = csr_product::Case<NonzeroSplitConfig>;
using Rule = csr_product::Rule<NonzeroSplitConfig>;

/// Tiles of the whole batch in the direction that varies slowly.
std::int64_t slow_tiles(const Case& c, Raster raster, int tile_columns) {
  return (raster == Raster::rows_first ? ceil_div(c.query.n.most, tile_columns) : block_count(c.query, c.config)) *
         c.query.problem.batch;
}

/// Registers besides loads of B and sums, counted in compiled kernels: the walk through rows, entries in flight from
/// memory, and what stores of rows add, since these come between the loads of a batch and its products.
std::int64_t further_registers(const Case& c) {
  constexpr std::int64_t walk = 32;
  const NonzeroSplitConfig& config = c.config;
  const NonzeroSplitTraits& t = c.traits;
  const std::int64_t entries =
      ceil_div(config.tile_nonzeros, std::int64_t{config.threads_per_row} * config.sparse_vector) *
      config.sparse_vector;
  const bool adds = t.residual || t.accumulate;
  const bool curved = t.activation != Activation::none && t.activation != Activation::relu;
  return walk + entries * (gathers_values(t, config) ? 4 : 2) + (adds ? 2 * config.dense_vector : 0) +
         (curved ? 8 : 0) + (t.wide_offsets ? config.loads_in_flight : 0);
}

bool exceeds_registers(const Case& c) {
  const int entries = c.config.loads_in_flight * (c.config.overlap_batches ? 2 : 1);
  return csr_product::registers_needed(c, entries) + further_registers(c) > csr_product::register_limit(c);
}

constexpr std::array size_rules = {
    Rule{"the grid's y and z hold fewer tiles than the batch has",
         [](const Case& c) {
           const SplitRowsConfig rows = split_rows_config(c.config);
           const std::int64_t most = std::max(slow_tiles(c, c.config.raster, c.config.tile_columns),
                                              slow_tiles(c, rows.raster, rows.tile_columns));
           return most > most_blocks_on_y * most_blocks_on_y;
         }},
    Rule{"the staged entries and pieces do not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_any);
         }},
    Rule{"the loads in flight do not fit the registers that min_blocks leaves",
         [](const Case& c) { return exceeds_registers(c); }},
};

}  // namespace

bool fits_registers(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  return !exceeds_registers({query, traits(query), config});
}

std::optional<std::string> forbidden(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  const Case c{query, traits(query), config};
  return to_reason(reason_against(c, csr_product::resource_rules<NonzeroSplitConfig>, size_rules));
}

}  // namespace vostok::ops::nonzero_split
