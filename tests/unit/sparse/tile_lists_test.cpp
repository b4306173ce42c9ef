#include "sparse/tile_lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "error_code.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 44;

/// Every nonzero's place in CSR order, found through the lists: what each entry's row and column in the matrix say is
/// checked on the way.
std::vector<std::int64_t> places_in_csr(const sparse::Csr& csr, const TileShape& shape,
                                        const sparse::TileListForm& form) {
  std::vector<std::int64_t> found;
  for (std::size_t t = 0; t < form.tiles.size(); ++t) {
    const SampleTile& tile = form.tiles[t];
    CHECK(tile.first_entry % entries_of_chunk() == 0);
    for (unsigned i = 0; i < tile.entries; ++i) {
      const int place = form.places[tile.first_entry + i];
      const auto row_in_tile = static_cast<std::size_t>(place / shape.columns);
      const std::int64_t row = static_cast<std::int64_t>(tile.row_tile) * shape.rows + place / shape.columns;
      const std::int64_t column = static_cast<std::int64_t>(tile.column_tile) * shape.columns + place % shape.columns;
      const std::int64_t at =
          form.row_shifts[t * static_cast<std::size_t>(shape.rows) + row_in_tile] + static_cast<std::int64_t>(i);
      REQUIRE(row < csr.rows);
      CHECK(at >= csr.row_offsets[static_cast<std::size_t>(row)]);
      CHECK(at < csr.row_offsets[static_cast<std::size_t>(row) + 1]);
      CHECK(csr.column_indices[static_cast<std::size_t>(at)] == column);
      found.push_back(at);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("lists of tiles hold every nonzero once, at its place in CSR order") {
  INFO("seed " << seed);
  for (const TileShape shape : {TileShape{.rows = 64, .columns = 32}, TileShape{.rows = 128, .columns = 128}})
    for (const double sparsity : {0.0, 0.5, 0.98}) {
      const sparse::Csr csr = sparse::uniform(150, 300, sparsity, seed);
      std::vector<std::int64_t> found = places_in_csr(csr, shape, sparse::tile_lists(csr, shape));
      std::sort(found.begin(), found.end());
      REQUIRE(static_cast<std::int64_t>(found.size()) == csr.nonzeros());
      for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == static_cast<std::int64_t>(i));
    }
}

TEST_CASE("only tiles that hold nonzeros are listed, by rows, then by columns") {
  const sparse::Csr csr{
      .rows = 100, .cols = 100, .row_offsets = std::vector<std::int64_t>(101, 0), .column_indices = {99, 0, 64}};
  sparse::Csr mask = csr;
  for (std::size_t row = 1; row <= 100; ++row) mask.row_offsets[row] = row <= 10 ? 0 : row <= 70 ? 1 : 3;
  const sparse::TileListForm form = sparse::tile_lists(mask, {.rows = 64, .columns = 32});
  REQUIRE(form.tiles.size() == 3);
  CHECK(form.tiles[0].row_tile == 0);
  CHECK(form.tiles[0].column_tile == 3);
  CHECK(form.tiles[1].row_tile == 1);
  CHECK(form.tiles[1].column_tile == 0);
  CHECK(form.tiles[2].column_tile == 2);
  CHECK(form.places.size() == 3 * entries_of_chunk());
}

TEST_CASE("tiles of a mask whose rows are not sorted are refused") {
  const sparse::Csr unsorted{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = {3, 1}};
  CHECK(test::code_of([&] { sparse::tile_lists(unsorted, {.rows = 32, .columns = 32}); }) == ErrorCode::unsupported);
}
