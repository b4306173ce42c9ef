#include <doctest/doctest.h>

#include <set>
#include <string>

#include "base/text.hpp"
#include "bench/harness/techniques.hpp"
#include "codegen/fields.hpp"

namespace vostok::bench {
namespace {

/// Uses every technique.
RowTileConfig everything_on() {
  return {.tile_rows = 4,
          .tile_columns = 64,
          .threads_per_row = 8,
          .row_split = 2,
          .tile_nonzeros = 64,
          .sparse_vector = 4,
          .dense_vector = 4,
          .reverse_offset_alignment = true,
          .row_swizzle = true,
          .slot_entries = 32,
          .row_pieces = 4,
          .deal_rows = true,
          .prescale_indices = true,
          .residue_unroll = 4,
          .column_edge = ColumnEdge::unchecked,
          .loads_in_flight = 8,
          .overlap_batches = true,
          .min_blocks = 2,
          .prefetch_sparse = true,
          .raster = Raster::columns_first,
          .stream_output = true,
          .prepare_dense = true,
          .pack_values = true};
}

TEST_CASE("every technique changes a config that uses it, and only the fields it names") {
  const FieldMap full = codegen::to_map(everything_on());
  for (const Technique& technique : row_tile_techniques()) {
    CAPTURE(technique.name);
    const auto changed = without(technique, full);
    REQUIRE(changed);
    for (const auto& [field, value] : full) {
      if (changed->at(field) == value) continue;
      CAPTURE(field);
      CHECK((fmt::format(", {},", technique.fields)).find(fmt::format(" {},", field)) != std::string::npos);
    }
  }
}

TEST_CASE("every field of the config is a technique's, but for the one that is only a size") {
  const FieldMap full = codegen::to_map(everything_on());
  std::set<std::string> untouched;
  for (const auto& [field, value] : full) untouched.insert(field);
  for (const Technique& technique : row_tile_techniques()) {
    const FieldMap changed = *without(technique, full);
    for (const auto& [field, value] : changed)
      if (full.at(field) != value) untouched.erase(field);
  }
  CHECK(untouched == std::set<std::string>{"tile_nonzeros"});
}

TEST_CASE("a step that is too long for one subwarp gets shorter with the split") {
  RowTileConfig config = everything_on();
  config.tile_nonzeros = 512;
  for (const Technique& technique : row_tile_techniques()) {
    const auto changed = codegen::from_map<RowTileConfig>(*without(technique, codegen::to_map(config)));
    CAPTURE(technique.name);
    CHECK(entries_per_lane(*changed) <= 256);
  }
}

TEST_CASE("a technique that is off already is not switched off again") {
  FieldMap config = codegen::to_map(everything_on());
  for (const Technique& technique : row_tile_techniques()) {
    CAPTURE(technique.name);
    const auto once = without(technique, config);
    REQUIRE(once);
    CHECK_FALSE(without(technique, *once));
  }
}

TEST_CASE("one row a warp keeps the block's threads") {
  for (const Technique& technique : row_tile_techniques()) {
    if (std::string(technique.name).find("one row a warp") == std::string::npos) continue;
    const auto changed = codegen::from_map<RowTileConfig>(*without(technique, codegen::to_map(everything_on())));
    CHECK(threads(*changed) == threads(everything_on()));
    CHECK(changed->tile_columns % (changed->threads_per_row * changed->dense_vector) == 0);
  }
}

TEST_CASE("a config that is not row_tile's is refused") { CHECK_THROWS_AS(without(row_tile_techniques().front(), {{"tile_rows", "many"}}), Error); }

}  // namespace
}  // namespace vostok::bench
