// Adds to the rules of the kernel (abi/staged_rows.h) what only the problem or the device knows.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/spmm/csr_rules.hpp"
#include "ops/spmm/staged_rows.hpp"
#include "ops/topology/panels.hpp"

namespace vostok::ops::staged_rows {

namespace {

using Case = csr_product::Case<StagedRowsConfig>;
using Rule = csr_product::Rule<StagedRowsConfig>;

/// Tiles of the whole batch in the direction that varies slowly, of either launch.
std::int64_t slow_tiles(const Case& c) {
  const std::int64_t column_tiles = ceil_div(c.query.n.most, c.config.tile_columns);
  const std::int64_t multiplied = c.config.raster == Raster::rows_first ? column_tiles : row_blocks(c.query, c.config);
  const std::int64_t added = ceil_div(c.query.n.most, sum_config(c.query, c.config).tile_columns);
  return std::max(multiplied, added) * c.query.problem.batch;
}

/// Lower bound on the registers for sums, a batch of loads and the entries in flight; addresses and counters need some
/// more.
std::int64_t registers_of(const Case& c) {
  const std::int64_t sums =
      csr_product::lane_values(c.config) * (c.config.rows_per_lane + (c.traits.blocked_sum ? 1 : 0));
  const std::int64_t entry = csr_product::lane_values(c.config) / c.config.dense_vector *
                                 ceil_div(std::int64_t{c.config.dense_vector} * size_of(c.traits.element), 4) +
                             2;
  const std::int64_t staged =
      std::int64_t{2} * rows_ahead(c.config) * ceil_div(c.config.tile_nonzeros, c.config.threads_per_row);
  constexpr std::int64_t addresses = 24;
  return sums + entry * c.config.loads_in_flight + staged + addresses;
}

constexpr std::array size_rules = {
    Rule{"math = strict keeps the order of a row's products: k_split is 1",
         [](const Case& c) { return c.query.problem.math == Math::strict && c.config.k_split != 1; }},
    Rule{"a slice has at least one panel: k_split is at most the number of panels",
         [](const Case& c) { return c.config.k_split > std::max<std::int64_t>(panels(c.query, c.config), 1); }},
    Rule{"B stays where it is one panel: k is 1 to panel_rows where row_rounds is more than 1",
         [](const Case& c) { return dense_stays(c.config) && panels(c.query, c.config) != 1; }},
    Rule{"the grid holds fewer tiles than the batch has",
         [](const Case& c) {
           return slow_tiles(c) > most_blocks_on_y * most_blocks_on_y ||
                  row_blocks(c.query, c.config) > most_blocks_on_x;
         }},
    Rule{"the panels and staged entries do not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_any);
         }},
    Rule{"the sums and loads in flight do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_of(c) > csr_product::register_limit(c); }},
};

}  // namespace

std::optional<std::string> declines(const SpmmQuery& query) {
  if (auto reason = csr_product::declines(query)) return reason;
  const StagedRowsConfig config = default_config(query);
  if (auto reason = panels_declined(query.statistics, config.panel_rows)) return reason;
  return forbidden(query, config);
}

std::optional<std::string> forbidden(const SpmmQuery& query, const StagedRowsConfig& config) {
  const Case c{query, traits(query), config};
  if (const char* const reason = reason_against(c, csr_product::resource_rules<StagedRowsConfig>, size_rules))
    return reason;
  return panels_declined(query.statistics, config.panel_rows);
}

}  // namespace vostok::ops::staged_rows
