// The rules of staged_rows: each a reason and when it holds. They repeat the kernels' own static_asserts and add what
// only the problem or the device knows.
#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/shared_memory.hpp"
#include "ops/spmm/csr_rules.hpp"
#include "ops/spmm/staged_rows.hpp"
#include "ops/topology/panels.hpp"

namespace vostok::ops::staged_rows {

namespace {

using csr_product::is_power_of_two_up_to;
using Case = csr_product::Case<StagedRowsConfig>;
using Rule = csr_product::Rule<StagedRowsConfig>;

/// Tiles of the whole batch in the direction that varies slowly, of either launch.
std::int64_t slow_tiles(const Case& c) {
  const std::int64_t column_tiles = ceil_div(c.query.n.most, c.config.tile_columns);
  const std::int64_t multiplied = c.config.raster == Raster::rows_first ? column_tiles : row_blocks(c.query, c.config);
  const std::int64_t added = ceil_div(c.query.n.most, sum_config(c.query, c.config).tile_columns);
  return std::max(multiplied, added) * c.query.problem.batch;
}

/// Lower bound on the registers for sums, a batch of loads and the entries in flight; addresses and counters need some more.
std::int64_t registers_of(const Case& c) {
  const std::int64_t sums = c.lane_values() * (c.config.rows_per_lane + (c.traits.blocked_sum ? 1 : 0));
  const std::int64_t entry =
      c.lane_values() / c.config.dense_vector * ceil_div(std::int64_t{c.config.dense_vector} * size_of(c.traits.element), 4) + 2;
  const std::int64_t staged = 2 * ceil_div(c.config.tile_nonzeros, c.config.threads_per_row);
  constexpr std::int64_t addresses = 24;
  return sums + entry * c.config.loads_in_flight + staged + addresses;
}

// In the order of checking, the shared ones in between: each may rely on those before it.

constexpr std::array shape_rules = {
    Rule{"the lanes of a row lie in one warp: threads_per_row is a power of two of at most 32",
         [](const Case& c) { return !is_power_of_two_up_to(c.config.threads_per_row, 32); }},
    Rule{"a block has 1 to 32 warps", [](const Case& c) { return c.config.warps < 1 || c.config.warps > 32; }},
    Rule{"a warp has at most 32 rows: rows_per_lane is 1 to threads_per_row",
         [](const Case& c) { return c.config.rows_per_lane < 1 || c.config.rows_per_lane > c.config.threads_per_row; }},
    Rule{"a panel has 1 to 1024 rows", [](const Case& c) { return c.config.panel_rows < 1 || c.config.panel_rows > 1024; }},
    Rule{"stages is 1 to 8", [](const Case& c) { return c.config.stages < 1 || c.config.stages > 8; }},
    Rule{"tile_nonzeros is even, 2 to 256",
         [](const Case& c) { return c.config.tile_nonzeros < 2 || c.config.tile_nonzeros > 256 || c.config.tile_nonzeros % 2 != 0; }},
    Rule{"loads_in_flight is a power of two of at most 16", [](const Case& c) { return !is_power_of_two_up_to(c.config.loads_in_flight, 16); }},
    Rule{"panels are rows of B: prepare_dense transposes a column-major one",
         [](const Case& c) { return c.traits.dense_layout == Layout::column_major && !c.config.prepare_dense; }},
    Rule{"no lane loads B by itself: column_edge is clamped or unchecked",
         [](const Case& c) { return c.config.column_edge == ColumnEdge::predicated; }},
    Rule{"math = strict keeps the order of a row's products: k_split is 1",
         [](const Case& c) { return c.query.problem.math == Math::strict && c.config.k_split != 1; }},
};

constexpr std::array size_rules = {
    Rule{"the threads of a block copy whole rows of a panel: tile_columns / dense_vector divides them",
         [](const Case& c) { return threads(c.config) % (c.config.tile_columns / c.config.dense_vector) != 0; }},
    Rule{"a panel is a multiple of 16 bytes", [](const Case& c) { return panel_bytes(c.traits, c.config) % 16 != 0; }},
    Rule{"a slice has at least one panel: k_split is 1 to the number of panels, and at most 64",
         [](const Case& c) { return c.config.k_split < 1 || c.config.k_split > std::clamp<std::int64_t>(panels(c.query, c.config), 1, 64); }},
    Rule{"the grid holds fewer tiles than the batch has",
         [](const Case& c) { return slow_tiles(c) > most_blocks_on_y * most_blocks_on_y || row_blocks(c.query, c.config) > most_blocks_on_x; }},
    Rule{"the panels and staged entries do not fit the device's shared memory",
         [](const Case& c) { return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query, block_shared_bytes_of_any); }},
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
  if (auto reason = reason_against(shape_rules, c)) return reason;
  if (auto reason = reason_against(csr_product::operand_rules<StagedRowsConfig>, c)) return reason;
  if (auto reason = reason_against(csr_product::resource_rules<StagedRowsConfig>, c)) return reason;
  if (auto reason = reason_against(size_rules, c)) return reason;
  return panels_declined(query.statistics, config.panel_rows);
}

}  // namespace vostok::ops::staged_rows
