#include "ops/spmm/staged_rows.hpp"
#include "ops/families.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "codegen/fields.hpp"
#include "contains.hpp"
#include "sparse/generate.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::pick;
using test::query_of;

const TopologyStatistics layer{
    .rows = 8192, .cols = 2048, .nonzeros = 1677721, .longest_row = 260, .mean_row = 204.8, .row_variation = 0.07};

const ops::Family& family() {
  static const std::unique_ptr<ops::Family> made = ops::make_staged_rows();
  return *made;
}

}  // namespace

TEST_CASE("staged_rows: every problem with sorted rows is taken, and its default is legal") {
  constexpr std::uint64_t seed = 4;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t rows = 1 + random.below(std::int64_t{1} << random.below(17));
    const std::int64_t cols = 1 + random.below(10000);
    Spmm problem{.n = std::int64_t{1} << random.below(18)};
    problem.n += random.below(problem.n + 1);
    problem.element = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
    problem.output = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
    problem.dense_layout = pick(random, {Layout::row_major, Layout::column_major});
    problem.output_layout = pick(random, {Layout::row_major, Layout::column_major});
    problem.sparse_transposed = random.below(2) == 0;
    problem.batch = 1 + random.below(3);
    problem.values_per_batch = random.below(2) == 0;
    problem.math = pick(random, {Math::accurate, Math::strict, Math::tf32});
    if (random.below(3) == 0) problem.dense_leading = std::max(problem.n, cols) + random.below(20);
    if (random.below(3) == 0) problem.output_leading = std::max(problem.n, rows) + random.below(20);
    problem.alignment_bytes = size_of(problem.element) << random.below(3);
    ops::SpmmQuery query =
        query_of(problem, {.rows = rows, .cols = cols, .nonzeros = rows * 30, .longest_row = random.below(5000)});
    if (random.below(4) == 0) query.n.least = 1;
    INFO(to_text(family().default_config(query).to_map()), ", n = ", problem.n);
    CHECK(family().declines(query).value_or("") == "");
    CHECK(family().forbidden(query, family().default_config(query)).value_or("") == "");
  }
}

TEST_CASE(
    "staged_rows: declined with a reason are rows that are not sorted, too many nonzeros and too sparse matrices") {
  const auto reason = [](const TopologyStatistics& statistics) {
    return family().declines(query_of({.n = 64}, statistics)).value_or("");
  };
  TopologyStatistics unsorted = layer;
  unsorted.sorted = false;
  CHECK(test::contains(reason(unsorted), "not sorted"));
  TopologyStatistics many = layer;
  many.nonzeros = std::int64_t{1} << 31;
  CHECK(test::contains(reason(many), "32 bits"));
  CHECK(test::contains(reason({.rows = 1 << 20, .cols = 1 << 20, .nonzeros = 1 << 22, .longest_row = 9, .mean_row = 4}),
                       "nearly all rows"));
  CHECK(!family().runs_on("sm_75"));
  CHECK(family().runs_on("sm_80"));
  CHECK(family().runs_on("emulator"));
}

TEST_CASE("staged_rows: k that is cut is added by another launch, with workspace for it behind what is prepared") {
  const Spmm problem{.n = 30, .batch = 2, .dense_layout = Layout::column_major};
  const ops::SpmmQuery query = query_of(problem, layer);
  StagedRowsConfig config = ops::staged_rows::default_config(query);
  config.k_split = 1;
  CHECK(family().launches(query, ops::Config::of(config), {}).size() == 2);
  constexpr std::int64_t prepared = std::int64_t{2048} * 32 * 4 * 2;
  CHECK(family().workspace_bytes(query, ops::Config::of(config)) == prepared);
  config.k_split = 4;
  CHECK(family().workspace_bytes(query, ops::Config::of(config)) == prepared + std::int64_t{2} * 4 * 8192 * 32 * 4);
  const std::vector<ops::Launch> launches = family().launches(query, ops::Config::of(config), {});
  REQUIRE(launches.size() == 3);
  CHECK(test::contains(launches[1].request().expression, "staged_rows<"));
  CHECK(test::contains(launches[2].request().expression, "staged_rows_sum<"));
  alignas(256) std::byte workspace[256] = {};
  const SpmmArguments call{.workspace = workspace, .n = 30};
  StagedRowsArgs args{};
  launches[1].bind(&call, &args);
  CHECK(reinterpret_cast<std::byte*>(args.partial) - workspace == prepared);
  CHECK(static_cast<const std::byte*>(args.product.dense) == workspace);
}

TEST_CASE("staged_rows: a launch fills its arguments, and its grid covers all tiles and slices in either raster") {
  for (const Raster raster : {Raster::rows_first, Raster::columns_first}) {
    const ops::SpmmQuery query = query_of({.n = 200, .batch = 3, .dense_leading = 208}, layer);
    StagedRowsConfig config = ops::staged_rows::default_config(query);
    config.raster = raster;
    config.panel_rows = 60;
    config.k_split = 3;
    const std::int32_t starts[1] = {}, order[1] = {};
    const std::vector<ops::Launch> launches =
        family().launches(query, ops::Config::of(config), {.row_order = order, .panel_starts = starts});
    const SpmmArguments call{.n = 200};
    StagedRowsArgs args{};
    const device::LaunchShape shape = launches.front().bind(&call, &args);
    const std::int64_t row_tiles = (8192 + tile_rows(config) - 1) / tile_rows(config);
    const std::int64_t column_tiles = (200 + config.tile_columns - 1) / config.tile_columns;
    const bool rows_first = raster == Raster::rows_first;
    CHECK(shape.grid.x == (rows_first ? row_tiles * 3 : column_tiles));
    CHECK(std::int64_t{shape.grid.y} * shape.grid.z >= 3 * (rows_first ? column_tiles : row_tiles * 3));
    CHECK(args.product.slow_tiles == (rows_first ? column_tiles : row_tiles * 3));
    CHECK((args.panel_starts == starts && args.row_order == order && args.k == 2048));
    CHECK((args.panels == 35 && args.slice_panels == 12 && args.slices == 3 && args.row_tiles == row_tiles));
    CHECK((args.product.n == 200 && args.product.dense_leading == 208 && args.product.batch == 3 &&
           args.product.m == 8192U));
  }
}

TEST_CASE("staged_rows: each rule refuses a config that breaks it, with its reason") {
  struct Breach {
    const char* reason;
    std::function<void(StagedRowsConfig&)> change;
  };
  const std::vector<Breach> breaches = {
      {"lie in one warp", [](StagedRowsConfig& c) { c.threads_per_row = 64; }},
      {"1 to 32 warps", [](StagedRowsConfig& c) { c.warps = 33; }},
      {"at most 32 rows", [](StagedRowsConfig& c) { c.rows_per_lane = c.threads_per_row + 1; }},
      {"1 to 2048 rows", [](StagedRowsConfig& c) { c.panel_rows = 0; }},
      {"stages", [](StagedRowsConfig& c) { c.stages = 0; }},
      {"even", [](StagedRowsConfig& c) { c.tile_nonzeros = 7; }},
      {"loads_in_flight", [](StagedRowsConfig& c) { c.loads_in_flight = 32; }},
      {"filled_entries", [](StagedRowsConfig& c) { c.filled_entries = 2 * c.loads_in_flight; }},
      {"divides tile_nonzeros", [](StagedRowsConfig& c) { c.tile_nonzeros = 6, c.filled_entries = 4; }},
      {"stages and k_split are 1", [](StagedRowsConfig& c) { c.row_rounds = 2, c.stages = 2; }},
      {"k is 1 to panel_rows", [](StagedRowsConfig& c) { c.row_rounds = 2, c.stages = 1; }},
      {"clamped or unchecked", [](StagedRowsConfig& c) { c.column_edge = ColumnEdge::predicated; }},
      {"at most 16 bytes", [](StagedRowsConfig& c) { c.dense_vector = 8; }},
      {"transposes a column-major B", [](StagedRowsConfig& c) { c.prepare_dense = true; }},
      {"multiple of threads_per_row", [](StagedRowsConfig& c) { c.tile_columns = 96; }},
      {"tile_columns divides", [](StagedRowsConfig& c) { c.column_edge = ColumnEdge::unchecked; }},
      {"min_blocks is 1 to 32", [](StagedRowsConfig& c) { c.min_blocks = 0; }},
      {"past the last column", [](StagedRowsConfig& c) { c.tile_columns = 1024; }},
      {"copy whole rows", [](StagedRowsConfig& c) { c.tile_columns = 192; }},
      {"multiple of 16 bytes",
       [](StagedRowsConfig& c) {
         c.threads_per_row = 1, c.rows_per_lane = 1, c.dense_vector = 1, c.tile_columns = 1, c.panel_rows = 5;
       }},
      {"at least one panel", [](StagedRowsConfig& c) { c.k_split = 65; }},
      {"shared memory", [](StagedRowsConfig& c) { c.panel_rows = 256; }},
      {"registers", [](StagedRowsConfig& c) { c.rows_per_lane = 16, c.warps = 16; }},
  };
  const ops::SpmmQuery query = query_of({.n = 260}, layer);
  for (const Breach& breach : breaches) {
    StagedRowsConfig config = ops::staged_rows::default_config(query);
    breach.change(config);
    const std::string reason = ops::staged_rows::forbidden(query, config).value_or("");
    INFO(std::string(breach.reason));
    CHECK_MESSAGE(test::contains(reason, breach.reason), reason);
  }
  const ops::SpmmQuery strict = query_of({.n = 260, .math = Math::strict}, layer);
  StagedRowsConfig config = ops::staged_rows::default_config(strict);
  CHECK(!ops::staged_rows::forbidden(strict, config));
  config.k_split = 2;
  CHECK(test::contains(ops::staged_rows::forbidden(strict, config).value_or(""), "strict"));
  const ops::SpmmQuery columns = query_of({.n = 260, .dense_layout = Layout::column_major}, layer);
  config = ops::staged_rows::default_config(columns);
  config.prepare_dense = false;
  CHECK(test::contains(ops::staged_rows::forbidden(columns, config).value_or(""), "panels are rows of B"));
}

TEST_CASE(
    "staged_rows: the space and the short list start with the default and repeat nothing, and only shared panels are "
    "raced in several ways") {
  for (const Dtype type : {Dtype::f32, Dtype::f16}) {
    const ops::SpmmQuery query = query_of({.n = 256, .element = type}, layer);
    for (const std::vector<ops::Config>& list : {family().space(query), family().short_list(query)}) {
      CHECK(list.front() == family().default_config(query));
      CHECK(std::set<ops::Config>(list.begin(), list.end()).size() == list.size());
    }
    CHECK((family().short_list(query).size() >= 6 && family().short_list(query).size() <= 21));
  }
  for (const TopologyStatistics& other :
       {TopologyStatistics{.rows = 64, .cols = 128, .nonzeros = 768, .longest_row = 20, .mean_row = 12},
        TopologyStatistics{.rows = 8192, .cols = 8192, .nonzeros = 81920, .longest_row = 30, .mean_row = 10}})
    CHECK(family().short_list(query_of({.n = 256}, other)).size() == 1);
}

TEST_CASE("staged_rows: B may stay where a panel of it fits, for all rows or a part of them, and not where k is none") {
  const auto staying = [](std::int64_t k) {
    const TopologyStatistics wide{
        .rows = 1024, .cols = k, .nonzeros = 20480, .longest_row = 40, .mean_row = 20, .row_variation = 0.2};
    std::set<int> groups, tiles;
    const ops::SpmmQuery query = query_of({.n = 50176}, wide);
    for (const ops::Config& config : family().space(query)) {
      const auto c = config.as<StagedRowsConfig>();
      if (!dense_stays(c) || family().forbidden(query, config)) continue;
      CHECK(c.panel_rows >= k);
      groups.insert(static_cast<int>(ops::staged_rows::row_groups(query, c)));
      tiles.insert(c.tile_columns);
    }
    return std::pair{groups, tiles};
  };
  CHECK(staying(64) == std::pair{std::set{1, 2, 4}, std::set{16, 32, 64, 128}});
  CHECK(staying(640) == std::pair{std::set{1, 2, 4}, std::set{16}});  // of the 48 KB that any GPU has
  CHECK(staying(2052).first.empty());
  const ops::SpmmQuery nothing = query_of({.n = 64}, {.rows = 100, .cols = 0});
  StagedRowsConfig config = ops::staged_rows::default_config(nothing);
  config.stages = 1, config.k_split = 1, config.row_rounds = 2;
  CHECK(test::contains(ops::staged_rows::forbidden(nothing, config).value_or(""), "k is 1 to panel_rows"));
}
