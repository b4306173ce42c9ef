// Adds to the rules of the kernel (abi/row_tile.h) what only the problem or the device knows, and what cannot be fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/spmm/csr_rules.hpp"
#include "ops/spmm/row_tile.hpp"
#include "ops/topology/row_slots.hpp"

namespace vostok::ops::row_tile {

namespace {

using Case = csr_product::Case<RowTileConfig>;
using Rule = csr_product::Rule<RowTileConfig>;

/// Tiles of the whole batch in the direction that varies slowly.
std::int64_t slow_tiles(const Case& c) {
  const bool rows_first = c.config.raster == Raster::rows_first;
  return (rows_first ? ceil_div(c.query.n.most, c.config.tile_columns)
                     : ceil_div(walked_rows(c.query, c.config), c.config.tile_rows)) *
         c.query.problem.batch;
}

constexpr std::array order_rules = {
    Rule{"math = strict keeps the order of a row's products: row_pieces is 1",
         [](const Case& c) { return c.query.problem.math == Math::strict && c.config.row_pieces > 1; }},
    Rule{"math = strict keeps the order of a row's products: row_split is 1",
         [](const Case& c) { return c.query.problem.math == Math::strict && c.config.row_split > 1; }},
};

constexpr std::array size_rules = {
    Rule{"the grid's y and z hold fewer tiles than the batch has",
         [](const Case& c) { return slow_tiles(c) > most_blocks_on_y * most_blocks_on_y; }},
    Rule{"the staged entries do not fit the device's shared memory",
         [](const Case& c) {
           return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query.device, block_shared_bytes_of_any);
         }},
    Rule{"the loads in flight do not fit the registers that min_blocks leaves",
         [](const Case& c) {
           return csr_product::registers_needed(c, std::max(c.config.loads_in_flight, c.config.residue_unroll)) >
                  csr_product::register_limit(c);
         }},
};

}  // namespace

std::optional<std::string> forbidden(const SpmmQuery& query, const RowTileConfig& config) {
  const Case c{query, traits(query), config};
  if (const char* const reason = reason_against(c, order_rules, csr_product::resource_rules<RowTileConfig>))
    return reason;
  if (config.slot_entries > 0)
    if (auto reason = row_slots_declined(query.statistics, slot_shape(config), query.index)) return reason;
  return to_reason(first_broken(c, size_rules));
}

}  // namespace vostok::ops::row_tile
