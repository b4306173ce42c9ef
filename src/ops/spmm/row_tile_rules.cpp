// The rules of row_tile: each a reason and when it holds. They repeat the kernel's own static_asserts, add what only
// the problem or the device knows, and exclude what cannot be fast.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/grid.hpp"
#include "ops/shared_memory.hpp"
#include "ops/spmm/csr_rules.hpp"
#include "ops/spmm/row_tile.hpp"
#include "ops/topology/row_slots.hpp"

namespace vostok::ops::row_tile {

namespace {

using csr_product::is_power_of_two_up_to;
using Case = csr_product::Case<RowTileConfig>;
using Rule = csr_product::Rule<RowTileConfig>;

/// Tiles of the whole batch in the direction that varies slowly.
std::int64_t slow_tiles(const Case& c) {
  const bool rows_first = c.config.raster == Raster::rows_first;
  return (rows_first ? ceil_div(c.query.n.most, c.config.tile_columns) : ceil_div(walked_rows(c.query, c.config), c.config.tile_rows)) *
         c.query.problem.batch;
}

// In the order of checking, the shared ones in between: each may rely on those before it.

constexpr std::array shape_rules = {
    Rule{"threads_per_row and row_split are powers of two of at most 32",
         [](const Case& c) { return !is_power_of_two_up_to(c.config.threads_per_row, 32) || !is_power_of_two_up_to(c.config.row_split, 32); }},
    Rule{"the subwarps of a row lie in one warp: threads_per_row * row_split is at most 32",
         [](const Case& c) { return lanes_per_row(c.config) > 32; }},
    Rule{
        "a block has 1 to 32 whole warps",
        [](const Case& c) { return c.config.tile_rows < 1 || c.config.tile_rows > 1024 || threads(c.config) % 32 != 0 || threads(c.config) > 1024; }},
};

constexpr std::array step_rules = {
    Rule{"rows start anywhere: a sparse_vector above 1 needs reverse_offset_alignment",
         [](const Case& c) { return c.config.sparse_vector > 1 && !c.config.reverse_offset_alignment; }},
    Rule{"tile_nonzeros is a power of two, at least 4 and sparse_vector, and 1 to 256 for each of row_split lanes",
         [](const Case& c) {
           return !is_power_of_two_up_to(c.config.tile_nonzeros, 8192) ||
                  c.config.tile_nonzeros < std::max({c.config.row_split, c.config.sparse_vector, 4}) || entries_per_lane(c.config) > 256;
         }},
    Rule{"loads_in_flight and residue_unroll are powers of two that divide a lane's entries per step",
         [](const Case& c) {
           const int most = entries_per_lane(c.config);
           return !is_power_of_two_up_to(c.config.loads_in_flight, most) || !is_power_of_two_up_to(c.config.residue_unroll, most);
         }},
    Rule{"slot_entries is 0 or a power of two, from the lanes of a row to tile_nonzeros, with residue_unroll entries for each of row_split lanes",
         [](const Case& c) {
           const int most = std::min(c.config.tile_nonzeros, 8192);
           return c.config.slot_entries != 0 &&
                  (!is_power_of_two_up_to(c.config.slot_entries, most) || c.config.slot_entries < lanes_per_row(c.config) ||
                   c.config.slot_entries < c.config.row_split * c.config.residue_unroll);
         }},
    Rule{"slots lie in the order of length: slot_entries needs row_swizzle",
         [](const Case& c) { return c.config.slot_entries > 0 && !c.config.row_swizzle; }},
    Rule{"the values of a slot lie in CSR order: slot_entries of a transposed A needs pack_values",
         [](const Case& c) { return c.config.slot_entries > 0 && gathers_values(c.traits, c.config); }},
    Rule{"row_pieces is a power of two that divides tile_rows",
         [](const Case& c) { return !is_power_of_two_up_to(c.config.row_pieces, 128) || c.config.tile_rows % c.config.row_pieces != 0; }},
    Rule{"pieces of rows have slots, are neighbours in a block, and have tiles of whole 16 bytes: row_pieces needs slot_entries, not deal_rows, and "
         "tile_columns that 4 divides",
         [](const Case& c) {
           return c.config.row_pieces > 1 && (c.config.slot_entries == 0 || c.config.deal_rows || c.config.tile_columns % 4 != 0);
         }},
    Rule{"math = strict keeps the order of a row's products: row_pieces is 1",
         [](const Case& c) { return c.query.problem.math == Math::strict && c.config.row_pieces > 1; }},
    Rule{"deal_rows spreads the order of length: it needs row_swizzle", [](const Case& c) { return c.config.deal_rows && !c.config.row_swizzle; }},
    Rule{"math = strict keeps the order of a row's products: row_split is 1",
         [](const Case& c) { return c.query.problem.math == Math::strict && c.config.row_split > 1; }},
};

constexpr std::array size_rules = {
    Rule{"the grid's y and z hold fewer tiles than the batch has", [](const Case& c) { return slow_tiles(c) > most_blocks_on_y * most_blocks_on_y; }},
    Rule{"the staged entries do not fit the device's shared memory",
         [](const Case& c) { return shared_bytes(c.traits, c.config) > most_shared_bytes(c.query, block_shared_bytes_of_any); }},
    Rule{"the loads in flight do not fit the registers that min_blocks leaves",
         [](const Case& c) {
           return csr_product::registers_needed(c, std::max(c.config.loads_in_flight, c.config.residue_unroll)) > csr_product::register_limit(c);
         }},
};

}  // namespace

std::optional<std::string> forbidden(const SpmmQuery& query, const RowTileConfig& config) {
  const Case c{query, traits(query), config};
  if (auto reason = reason_against(shape_rules, c)) return reason;
  if (auto reason = reason_against(csr_product::operand_rules<RowTileConfig>, c)) return reason;
  if (auto reason = reason_against(step_rules, c)) return reason;
  if (auto reason = reason_against(csr_product::resource_rules<RowTileConfig>, c)) return reason;
  if (config.slot_entries > 0)
    if (auto reason = row_slots_declined(query.statistics, slot_shape(config), query.index)) return reason;
  return reason_against(size_rules, c);
}

}  // namespace vostok::ops::row_tile
