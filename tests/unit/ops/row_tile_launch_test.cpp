// What launches of row_tile pass to the kernel.
#include <doctest/doctest.h>

#include "ops/spmm/problem.hpp"
#include "ops/spmm/row_tile.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::query_of;

const TopologyStatistics layer{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 300, .mean_row = 195};
const ops::Family& family() { return *ops::find_family("spmm", "row_tile"); }

}  // namespace

TEST_CASE("a launch fills every argument and a grid that covers all tiles in either raster") {
  TopologyStatistics tall = layer;
  tall.rows = 1'000'003;
  for (const Raster raster : {Raster::rows_first, Raster::columns_first}) {
    const Spmm problem{.n = 200, .batch = 3, .values_per_batch = true, .dense_leading = 208, .value_stride = 100004};
    const ops::SpmmQuery query = query_of(problem, tall);
    RowTileConfig config = ops::row_tile::default_config(query);
    config.raster = raster;
    const int values = 0, dense = 0, output = 0, bias = 0, residual = 0, offsets = 0, columns = 0, order = 0;
    const float scale = 0;
    const ops::TopologyPointers topology{.row_offsets = &offsets, .column_indices = &columns, .row_order = &order};
    const ops::Launch launch = family().launches(query, ops::Config::of(config), topology).back();
    const SpmmArguments call{.values = &values,
                             .dense = &dense,
                             .output = const_cast<int*>(&output),
                             .bias = &bias,
                             .residual = &residual,
                             .scale = 0.5F,
                             .device_scale = &scale,
                             .n = 200};
    RowTileArgs all{};
    const device::LaunchShape shape = launch.bind(&call, &all);
    const CsrProductArgs& args = all.product;
    const std::int64_t row_tiles = (tall.rows + config.tile_rows - 1) / config.tile_rows;
    const std::int64_t column_tiles = (200 + config.tile_columns - 1) / config.tile_columns;
    const std::int64_t slow = std::int64_t{shape.grid.y} * shape.grid.z;
    CHECK(shape.grid.y <= 65535);
    CHECK(shape.grid.z <= 65535);
    CHECK(shape.grid.x == (raster == Raster::rows_first ? row_tiles : column_tiles));
    CHECK(slow >= 3 * (raster == Raster::rows_first ? column_tiles : row_tiles));
    CHECK(args.slow_tiles == (raster == Raster::rows_first ? column_tiles : row_tiles));
    CHECK(shape.block.x == static_cast<unsigned>(threads(config)));
    CHECK(shape.shared_bytes == shared_bytes(ops::row_tile::traits(query), config));
    CHECK((args.values == &values && args.dense == &dense && args.output == &output &&
           static_cast<const void*>(args.bias) == &bias));
    CHECK((args.residual == &residual && args.device_scale == &scale && args.scale == 0.5F));
    CHECK((args.row_offsets == &offsets && args.column_indices == &columns && all.row_order == &order));
    CHECK((args.n == 200 && args.dense_leading == 208 && args.output_leading == 200));
    CHECK((args.value_stride == 100004 && args.dense_stride == std::int64_t{2048} * 208 &&
           args.output_stride == tall.rows * 200));
    CHECK((args.m == 1'000'003U && args.nonzeros == 100000U && args.batch == 3));
  }
}

TEST_CASE("with slots the grid covers the slots, which the kernel gets in place of the row order") {
  const ops::SpmmQuery query = query_of({.n = 256}, layer);
  RowTileConfig config = ops::row_tile::paper_config(query);
  config.slot_entries = 64;
  config.row_pieces = config.tile_rows;
  config.deal_rows = false;
  REQUIRE(!ops::row_tile::forbidden(query, config));
  const ops::TopologyNeeds needs = family().needs(query, ops::Config::of(config));
  CHECK(needs.slots == SlotShape{64, config.tile_rows});
  CHECK(!needs.row_order);
  const RowRecord record = make_record(3, 2, 1, 1);
  const int columns = 0;
  const ops::TopologyPointers topology{.slots = {.records = &record, .columns = &columns, .count = 3001}};
  const ops::Launch launch = family().launches(query, ops::Config::of(config), topology).back();
  const SpmmArguments call{.n = 256};
  RowTileArgs args{};
  const device::LaunchShape shape = launch.bind(&call, &args);
  const std::int64_t row_tiles = (3001 + config.tile_rows - 1) / config.tile_rows;
  CHECK(std::max<std::int64_t>(shape.grid.x, shape.grid.y) >= row_tiles);
  CHECK(std::int64_t{shape.grid.x} * shape.grid.y ==
        row_tiles * ((256 + config.tile_columns - 1) / config.tile_columns));
  CHECK((args.slots.records == &record && args.slots.columns == &columns && args.slots.count == 3001));
}
