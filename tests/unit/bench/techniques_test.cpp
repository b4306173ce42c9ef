#include <doctest/doctest.h>

#include <set>
#include <string>

#include "abi/row_strips.h"
#include "abi/row_tile.h"
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

/// The same of row_strips.
RowStripsConfig strips_with_everything_on() {
  return {.strip_entries = 32,
          .threads_per_strip = 8,
          .strips_per_block = 16,
          .dense_vector = 4,
          .step_vectors = 2,
          .loads_in_flight = 8,
          .overlap_batches = true,
          .column_path = ColumnPath::shared,
          .column_bands = true,
          .n_split = 2,
          .min_blocks = 4,
          .stream_output = true};
}

struct Listed {
  TechniquesOf of;
  FieldMap full;
};

std::vector<Listed> families() {
  return {{row_tile_techniques(), codegen::to_map(everything_on())},
          {row_strips_techniques(), codegen::to_map(strips_with_everything_on())}};
}

template <class Check>
void for_each_technique(const Check& check) {
  for (const auto& [of, full] : families())
    for (const Technique& technique : of.techniques) {
      CAPTURE(of.family);
      CAPTURE(technique.name);
      check(technique, full);
    }
}

TEST_CASE("every technique changes a config that uses it, and only the fields it names") {
  for_each_technique([](const Technique& technique, const FieldMap& full) {
    const auto changed = technique.without(full);
    REQUIRE(changed);
    for (const auto& [field, value] : full) {
      if (changed->at(field) == value) continue;
      CAPTURE(field);
      CHECK((fmt::format(", {},", technique.fields)).find(fmt::format(" {},", field)) != std::string::npos);
    }
  });
}

TEST_CASE("every field of a config is a technique's, but for the one of row_tile that is only a size") {
  std::set<std::string> untouched;
  for (const auto& [of, full] : families())
    for (const auto& [field, value] : full) untouched.insert(field);
  for_each_technique([&](const Technique& technique, const FieldMap& full) {
    const FieldMap changed = *technique.without(full);
    for (const auto& [field, value] : changed)
      if (full.at(field) != value) untouched.erase(field);
  });
  CHECK(untouched == std::set<std::string>{"tile_nonzeros"});
}

TEST_CASE("a step that is too long for one subwarp gets shorter with the split") {
  RowTileConfig config = everything_on();
  config.tile_nonzeros = 512;
  for (const Technique& technique : row_tile_techniques().techniques) {
    const auto changed = codegen::from_map<RowTileConfig>(*technique.without(codegen::to_map(config)));
    CAPTURE(technique.name);
    CHECK(entries_per_lane(*changed) <= 256);
  }
}

TEST_CASE("a technique that is off already is not switched off again") {
  for_each_technique([](const Technique& technique, const FieldMap& full) {
    const auto once = technique.without(full);
    REQUIRE(once);
    CHECK_FALSE(technique.without(*once));
  });
}

TEST_CASE("one row or strip a warp keeps the block's threads") {
  for_each_technique([](const Technique& technique, const FieldMap& full) {
    if (std::string(technique.name).find("subwarp tiling") == std::string::npos) return;
    const FieldMap changed = *technique.without(full);
    if (full.contains("strip_entries")) {
      CHECK(threads(*codegen::from_map<RowStripsConfig>(changed)) == threads(strips_with_everything_on()));
      return;
    }
    const auto tile = codegen::from_map<RowTileConfig>(changed);
    CHECK(threads(*tile) == threads(everything_on()));
    CHECK(tile->tile_columns % (tile->threads_per_row * tile->dense_vector) == 0);
  });
}

TEST_CASE("a config of another family is refused") {
  CHECK_THROWS_AS(row_tile_techniques().techniques.front().without({{"tile_rows", "many"}}), Error);
  CHECK_THROWS_AS(row_strips_techniques().techniques.front().without(codegen::to_map(everything_on())), Error);
}

}  // namespace
}  // namespace vostok::bench
