// Which file's errata mask which file's choices: nobody's file takes away what the user has measured, but the library's
// own.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cache/errata.hpp"
#include "unit/cache/fixture.hpp"

using namespace vostok;
using namespace vostok::cache;
using namespace vostok::cache::testing;

namespace {

using Tiles = std::vector<std::string>;

/// A choice in a folder's tuning.db.
void choose(const std::filesystem::path& folder, const std::string& tile_rows) {
  Opening(in_folder(folder)).tuning().set_winner(sample_problem(), sample_device(), sample_winner(tile_rows));
}

/// The only erratum of a folder's tuning.db.
void rule(const std::filesystem::path& folder, const Erratum& erratum) {
  Connection connection(folder / "tuning.db", Access::read_write, 1000);
  connection.execute("DELETE FROM errata");
  store_erratum(connection, erratum);
}

Tiles tiles_found(Opening& opening) {
  Tiles tiles;
  for (const plan::WinnerMatch& match : opening.tuning().find(sample_problem(), sample_device()))
    tiles.push_back(match.winner.config.at("tile_rows"));
  return tiles;
}

/// The user's own choice is 1, those of two read-only files 2 and 3, the shipped one 4: that is the order in which they
/// are asked.
CacheOptions four_layers(const std::filesystem::path& folder) {
  choose(folder / "user", "1");
  choose(folder / "first", "2");
  choose(folder / "second", "3");
  choose(folder / "shipped", "4");
  auto options = in_folder(folder / "user");
  options.read_only = {folder / "first", folder / "second" / "tuning.db"};
  options.shipped = folder / "shipped";
  return options;
}

}  // namespace

TEST_CASE("an erratum masks the choices that it names, and no others") {
  const TemporaryFolder folder;
  choose(folder / "user", "8");
  choose(folder / "shipped", "16");
  auto options = in_folder(folder / "user");
  options.shipped = folder / "shipped";
  const auto found_under = [&](const Erratum& erratum) {
    rule(folder / "shipped", erratum);
    Opening opening(options);
    CHECK(*opening.warnings == 0);
    return tiles_found(opening);
  };
  CHECK(found_under({.id = "E1", .config = {{"tile_rows", "99"}}}) == Tiles{"8", "16"});
  CHECK(found_under({.id = "E1", .config = {{"tile_rows", "8"}}}) == Tiles{"16"});
  CHECK(found_under({.id = "E1", .config = {{"tile_rows", "16"}}}) == Tiles{"8"});
  CHECK(found_under({.id = "E1", .config = {{"tile_rows", "8"}, {"no_such", "1"}}}) == Tiles{"8", "16"});
  CHECK(found_under({.id = "E1", .family = "row_tile", .exact = {{"element", "f32"}}, .code_digest = "d1"}).empty());
  CHECK(found_under({.id = "E1", .family = "row_tile", .exact = {{"element", "f16"}}}) == Tiles{"8", "16"});
  CHECK(found_under({.id = "E1", .operation = "sddmm"}) == Tiles{"8", "16"});
  CHECK(found_under({.id = "E1", .architecture = "sm_80"}) == Tiles{"8", "16"});
  CHECK(found_under({.id = "E1", .architecture = "sm_90"}).empty());
  CHECK(found_under({.id = "E1", .last_library_version = "0.1.0"}).empty());
  CHECK(found_under({.id = "E1", .last_library_version = "0.0.9"}) == Tiles{"8", "16"});
}

TEST_CASE("a choice for the problem without its bias is masked by what names either problem") {
  const TemporaryFolder folder;
  plan::ProblemKey biased = sample_problem();
  biased.exact = "bias=per_row element=f32 operation=spmm";
  biased.plain = "bias=none element=f32 operation=spmm";
  plan::ProblemKey plain = sample_problem();
  plain.exact = biased.plain;
  Opening(in_folder(folder.path())).tuning().set_winner(plain, sample_device(), sample_winner());
  const auto found_under = [&](const FieldMap& exact) {
    rule(folder.path(), {.id = "E1", .exact = exact});
    Opening opening(in_folder(folder.path()));
    const auto masked = opening.tuning().masked(biased, sample_device()).size();
    const auto found = opening.tuning().find(biased, sample_device()).size();
    CHECK(masked + found == 1);
    return found;
  };
  CHECK(found_under({{"element", "f16"}}) == 1);
  CHECK(found_under({{"bias", "per_row"}}) == 0);
  CHECK(found_under({{"bias", "none"}}) == 0);
}

TEST_CASE(
    "an erratum with empty fields masks everything where it counts: a read-only file's for itself and the layers "
    "below") {
  const TemporaryFolder folder;
  const CacheOptions options = four_layers(folder.path());
  const auto found = [&] {
    Opening opening(options);
    return tiles_found(opening);
  };
  CHECK(found() == Tiles{"1", "2", "3", "4"});
  SUBCASE("the first read-only file") {
    rule(folder / "first", {.id = "E1"});
    CHECK(found() == Tiles{"1"});
  }
  SUBCASE("the second") {
    rule(folder / "second", {.id = "E1"});
    CHECK(found() == Tiles{"1", "2"});
  }
  SUBCASE("the shipped file") {
    rule(folder / "shipped", {.id = "E1"});
    CHECK(found().empty());
  }
  SUBCASE("the user's own file") {
    rule(folder / "user", {.id = "E1"});
    CHECK(found().empty());
  }
  SUBCASE("what the user's file no longer takes is kept in memory, and counts as the user's own") {
    rule(folder / "first", {.id = "E1"});
    auto in_memory = options;
    in_memory.folder = folder / "user" / "tuning.db" / "no folder";
    Opening opening(in_memory);
    opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner("5"));
    CHECK(tiles_found(opening) == Tiles{"5"});
  }
}

TEST_CASE("a masked choice is told: the user's own once in the log, every one where a choice is explained") {
  const TemporaryFolder folder;
  const CacheOptions options = four_layers(folder.path());
  rule(folder / "shipped", {.id = "E7", .reason = "reads\x1b[2J beside the mask"});
  Opening opening(options);
  CHECK(opening.tuning().find_same(sample_problem(), sample_device()).empty());
  CHECK(opening.tuning().find_same(sample_problem(), sample_device()).empty());
  CHECK(*opening.warnings == 0);
  REQUIRE(opening.lines->size() == 1);
  const std::string by =
      "erratum E7 of " + (folder / "shipped" / "tuning.db").string() + R"(: reads\x1b[2J beside the mask)";
  CHECK(opening.lines->front() ==
        "cache: a choice measured for spmm is not used (row_tile dense_vector=4 tile_rows=1): " + by);
  const auto masked = opening.tuning().masked(sample_problem(), sample_device());
  REQUIRE(masked.size() == 4);
  for (std::size_t i = 0; i < masked.size(); ++i) {
    CHECK(masked[i].by == by);
    CHECK(masked[i].own == (i == 0));
    CHECK(masked[i].winner.config.at("tile_rows") == std::to_string(i + 1));
  }
  CHECK(opening.tuning().masked(sample_problem(4096), sample_device()).empty());
}
