#include "ops/spmm/row_tile.hpp"

#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/csr_product.hpp"
#include "ops/topology/row_slots.hpp"

namespace vostok::ops {

namespace row_tile {

RowTileTraits traits(const SpmmQuery& query) { return csr_product::traits(query); }

std::int64_t walked_rows(const SpmmQuery& query, const RowTileConfig& config) {
  return config.slot_entries > 0 ? slot_room(query.statistics, slot_shape(config)) : query.statistics.rows;
}

namespace {

static_assert(codegen::lists_every_field<RowTileConfig>(), "fields(RowTileConfig) must name every member");

/// Fills the kernel's arguments from a call's.
struct Binding {
  csr_product::OperandBinding operands;
  const std::int32_t* row_order;
  RowSlots slots;
  int tile_rows;
  int tile_columns;
  Raster raster;

  device::Dim3 operator()(const SpmmArguments& call, RowTileArgs& args) const {
    const std::int64_t row_tiles =
        ceil_div(slots.records != nullptr ? std::int64_t{slots.count} : operands.m(), tile_rows);
    const std::int64_t column_tiles = ceil_div(call.n, tile_columns);
    const std::int64_t slow_tiles = raster == Raster::rows_first ? column_tiles : row_tiles;
    args = {.product = operands(call, slow_tiles), .row_order = row_order, .slots = slots};
    return grid_of(raster == Raster::rows_first ? row_tiles : column_tiles, slow_tiles * operands.batch());
  }
};

Launch multiply_launch(const SpmmQuery& query, const RowTileConfig& config, const TopologyPointers& topology) {
  const RowTileTraits t = traits(query);
  codegen::KernelRequest request = {
      .family = "row_tile",
      .header = "spmm/row_tile.h",
      .expression = codegen::name_expression("row_tile", "RowTileTraits", t, "RowTileConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  const Binding binding = {.operands = {query, csr_product::preparation_of(config), topology},
                           .row_order = topology.row_order,
                           .slots = topology.slots,
                           .tile_rows = config.tile_rows,
                           .tile_columns = config.tile_columns,
                           .raster = config.raster};
  return Launch::of<SpmmArguments, RowTileArgs>(std::move(request), shape, binding);
}

}  // namespace

}  // namespace row_tile

namespace {

struct RowTile {
  using Query = SpmmQuery;
  using Config = RowTileConfig;
  static constexpr std::string_view name = "row_tile";

  static std::optional<std::string> declines(const SpmmQuery& query) {
    if (auto reason = csr_product::declines(query)) return reason;
    if (query.statistics.rows > most_blocks_on_y * most_blocks_on_y / query.problem.batch)
      return "the grid holds fewer rows than the batch has";
    return std::nullopt;
  }

  static constexpr auto default_config = row_tile::default_config;
  static constexpr auto space = row_tile::space;
  static constexpr auto short_list = row_tile::short_list;
  static constexpr auto forbidden = row_tile::forbidden;
  static constexpr auto predict_us = row_tile::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const RowTileConfig& config) {
    return {.index = query.index,
            .transposed = query.problem.sparse_transposed,
            .row_order = config.row_swizzle && config.slot_entries == 0,
            .slots = slot_shape(config)};
  }

  static std::int64_t workspace_bytes(const SpmmQuery& query, const RowTileConfig& config) {
    return csr_product::prepared_operands(query, csr_product::preparation_of(config)).bytes;
  }

  static std::vector<Launch> launches(const SpmmQuery& query, const RowTileConfig& config,
                                      const TopologyPointers& topology) {
    std::vector<Launch> list = csr_product::preparing_launches(query, csr_product::preparation_of(config), topology);
    list.push_back(row_tile::multiply_launch(query, config, topology));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_row_tile() { return family_of<RowTile>(); }

}  // namespace vostok::ops
