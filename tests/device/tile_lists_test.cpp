// Lists of tiles made on the device against the host's, in several thread orders.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "error_code.hpp"
#include "ops/topology/tile_lists.hpp"
#include "sparse/tile_lists.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 43;

constexpr std::array shapes = {TileShape{.rows = 64, .columns = 32}, TileShape{.rows = 128, .columns = 64},
                               TileShape{.rows = 32, .columns = 128}, TileShape{.rows = 256, .columns = 256}};

/// Sorted matrices: none or one of everything, past the edges of tiles, empty tiles, repeated columns, indices in 32
/// bits.
std::vector<sparse::Csr> masks() {
  std::vector<sparse::Csr> list;
  list.push_back(sparse::uniform(300, 333, 0.8, seed));
  list.push_back({.rows = 0, .cols = 9});
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back({.rows = 2, .cols = 70, .row_offsets = {0, 4, 7}, .column_indices = {0, 63, 63, 69, 64, 64, 64}});
  list.push_back(sparse::uniform(129, 130, 0.0, seed + 1));
  list.push_back(test::uneven_mask(257, 65, seed + 2));
  sparse::Csr diagonal{.rows = 500, .cols = 500};
  for (std::int32_t i = 0; i < 500; ++i) {
    diagonal.column_indices.push_back(i);
    diagonal.row_offsets.push_back(i + 1);
  }
  list.push_back(diagonal);
  list.push_back(test::mask_of_wide_columns(40, seed + 3));
  return test::affordable(std::move(list), 2);
}

bool same(const SampleTile& a, const SampleTile& b) {
  return a.row_tile == b.row_tile && a.column_tile == b.column_tile && a.first_entry == b.first_entry &&
         a.entries == b.entries;
}

}  // namespace

TEST_CASE("lists of tiles made on a device are the host's, and behind them are tiles without entries") {
  INFO("seed " << seed);
  for (const test::StepDevice& on : test::step_devices())
    for (const sparse::Csr& mask : masks())
      for (const TileShape& shape : shapes) {
        INFO(on.on.name << ": " << mask.rows << " x " << mask.cols << ", " << mask.nonzeros() << " nonzeros, tiles of "
                        << shape.rows << " x " << shape.columns);
        const auto topology = on.topology(mask.view());
        const TileLists lists = topology->pointers({.tiles = shape}).tile_lists;
        const sparse::TileListForm expected = sparse::tile_lists(mask, shape);
        REQUIRE(lists.tile_count >= expected.tiles.size());
        const std::vector<SampleTile> tiles = test::read(on.device(), lists.tiles, lists.tile_count);
        CHECK(std::equal(expected.tiles.begin(), expected.tiles.end(), tiles.begin(), same));
        CHECK(std::all_of(tiles.begin() + static_cast<std::ptrdiff_t>(expected.tiles.size()), tiles.end(),
                          [](const SampleTile& tile) { return tile.entries == 0; }));
        CHECK(test::read(on.device(), lists.row_shifts, expected.row_shifts.size()) == expected.row_shifts);
        CHECK(test::read(on.device(), lists.places, expected.places.size()) == expected.places);
      }
}

TEST_CASE(
    "lists of tiles are made once for each shape, count as the topology's memory, and are refused where rows are not "
    "sorted") {
  const test::StepDevice& on = test::step_devices().front();
  const sparse::Csr mask = sparse::uniform(100, 200, 0.5, seed);
  const auto topology = on.topology(mask.view());
  const std::int64_t before = topology->device_bytes();
  const TileLists first = topology->pointers({.tiles = shapes[0]}).tile_lists;
  CHECK(topology->device_bytes() >= before + mask.nonzeros() * 2);
  CHECK(topology->pointers({.tiles = shapes[0]}).tile_lists.places == first.places);
  CHECK(topology->pointers({.tiles = shapes[1]}).tile_lists.places != first.places);
  CHECK(topology->pointers({.tiles = shapes[0]}).tile_lists.places == first.places);

  const sparse::Csr unsorted{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = {3, 1}};
  const auto refused = on.topology(unsorted.view());
  CHECK(test::code_of([&] { refused->pointers({.tiles = shapes[0]}); }) == ErrorCode::unsupported);
}

TEST_CASE("tiles are declined of masks whose rows are not sorted, and where nearly all of them would be empty") {
  const TileShape shape = shapes[1];
  CHECK(!ops::tile_lists_declined({.rows = 2048, .cols = 512, .nonzeros = 1 << 19}, shape));
  CHECK(ops::tile_lists_declined({.rows = 2048, .cols = 512, .nonzeros = 1 << 19, .sorted = false}, shape));
  CHECK(ops::tile_lists_declined({.rows = 1 << 20, .cols = 1 << 20, .nonzeros = 1 << 20}, shape));
  CHECK(ops::tile_lists_declined({.rows = 1 << 20, .cols = 1 << 20, .nonzeros = std::int64_t{1} << 31}, shape));
}
