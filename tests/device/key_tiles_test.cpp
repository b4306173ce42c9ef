// Tiles of keys made on the device against the host's, in several thread orders.
#include <doctest/doctest.h>

#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "error_code.hpp"
#include "ops/topology/key_tiles.hpp"
#include "sparse/key_tiles.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 59;

/// Sorted masks without repeats: none or one of everything, past the edges of blocks, windows and tiles.
std::vector<sparse::Csr> masks() {
  std::vector<sparse::Csr> list;
  list.push_back(sparse::uniform(300, 333, 0.8, seed));
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back(sparse::uniform(129, 130, 0.0, seed + 1));
  list.push_back(sparse::uniform(130, 4000, 0.995, seed + 2));
  list.push_back(sparse::uniform(17, 140'000, 0.9995, seed + 3));
  return test::affordable(std::move(list), 2);
}

}  // namespace

TEST_CASE("tiles of keys made on a device are the host's") {
  INFO("seed " << seed);
  for (const test::StepDevice& on : test::step_devices())
    for (const sparse::Csr& mask : masks())
      for (const auto [queries, parts] : {ops::QueryBlocks{16}, {64}, {128}, {128, 2}, {192, 3}, {48, 3}}) {
        INFO(on.on.name << ": " << mask.rows << " x " << mask.cols << ", " << mask.nonzeros() << " nonzeros, blocks of "
                        << queries << " in " << parts);
        const auto topology = on.topology(mask.view());
        ops::TopologyNeeds needs{.key_tile_queries = queries, .key_tile_parts = parts};
        CHECK(topology->pointers(needs).key_tiles.starts == nullptr);
        needs.key_tile_starts = parts == 1;
        const KeyTiles tiles = topology->pointers(needs).key_tiles;
        const sparse::KeyTileForm expected = sparse::key_tiles(mask, queries, parts);
        REQUIRE(tiles.tile_count == expected.first_tiles.back());
        REQUIRE(tiles.block_count == std::ssize(expected.order));
        CHECK(ops::key_tile_room(topology->statistics(), {queries, parts}) >= tiles.tile_count);
        CHECK(test::read(on.device(), tiles.first_tiles, std::ssize(expected.first_tiles)) == expected.first_tiles);
        CHECK(test::read(on.device(), tiles.order, std::ssize(expected.order)) == expected.order);
        CHECK(test::read(on.device(), tiles.keys, std::ssize(expected.keys)) == expected.keys);
        CHECK(test::read(on.device(), tiles.bits, std::ssize(expected.bits)) == expected.bits);
        CHECK((tiles.taken == nullptr) == (parts == 1));
        CHECK(test::read(on.device(), tiles.taken, std::ssize(expected.taken)) == expected.taken);
        if (parts > 1) continue;
        std::vector<std::int32_t> starts = test::read(on.device(), tiles.starts, std::ssize(expected.starts));
        for (std::size_t i = 0; i < starts.size(); ++i)
          if (expected.starts[i] < 0) starts[i] = -1;
        CHECK(starts == expected.starts);
      }
}

TEST_CASE("tiles of keys are made once for each size of blocks, and refused where a row is not sorted or names twice") {
  const test::StepDevice& on = test::step_devices().front();
  const auto topology = on.topology(sparse::uniform(100, 200, 0.5, seed).view());
  const std::int64_t before = topology->device_bytes();
  const KeyTiles first = topology->pointers({.key_tile_queries = 64}).key_tiles;
  CHECK(topology->device_bytes() >= before + std::int64_t{first.tile_count} * (tile_keys() + tile_words(64)) * 4);
  CHECK(topology->pointers({.key_tile_queries = 64}).key_tiles.bits == first.bits);
  CHECK(topology->pointers({.key_tile_queries = 128}).key_tiles.bits != first.bits);

  for (const std::vector<std::int32_t>& columns : {std::vector<std::int32_t>{3, 1}, {2, 2}}) {
    const sparse::Csr refused{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = columns};
    const auto of = on.topology(refused.view());
    CHECK(test::code_of([&] { of->pointers({.key_tile_queries = 64}); }) == ErrorCode::unsupported);
  }
}
