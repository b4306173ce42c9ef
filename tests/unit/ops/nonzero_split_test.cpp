#include "ops/spmm/nonzero_split.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "codegen/fields.hpp"
#include "contains.hpp"
#include "sparse/generate.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::pick;
using test::query_of;

const TopologyStatistics layer{
    .rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 300, .mean_row = 195, .row_variation = 0.15};
const TopologyStatistics graph{.rows = 65536,
                               .cols = 65536,
                               .nonzeros = 1000000,
                               .longest_row = 40000,
                               .empty_rows = 100,
                               .mean_row = 15.3,
                               .row_variation = 12};

const ops::Family& family() { return *ops::find_family("spmm", "nonzero_split"); }
const ops::Family& row_tile() { return *ops::find_family("spmm", "row_tile"); }

double predicted(const ops::Family& of, const ops::SpmmQuery& query) {
  return of.predict_us(query, of.default_config(query));
}

}  // namespace

TEST_CASE("nonzero_split: every problem is taken but strict ones and those whose rows and nonzeros pass 32 bits") {
  constexpr std::uint64_t seed = 4;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t rows = 1 + random.below(std::int64_t{1} << random.below(20));
    const std::int64_t cols = 1 + random.below(100000);
    Spmm problem{.n = std::int64_t{1} << random.below(18)};
    problem.n += random.below(problem.n + 1);
    problem.element = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
    problem.output = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
    problem.dense_layout = pick(random, {Layout::row_major, Layout::column_major});
    problem.output_layout = pick(random, {Layout::row_major, Layout::column_major});
    problem.sparse_transposed = random.below(2) == 0;
    problem.batch = 1 + random.below(3);
    problem.values_per_batch = random.below(2) == 0;
    if (random.below(3) == 0) problem.dense_leading = std::max(problem.n, cols) + random.below(20);
    if (random.below(3) == 0) problem.output_leading = std::max(problem.n, rows) + random.below(20);
    problem.alignment_bytes = size_of(problem.element) << random.below(3);
    ops::SpmmQuery query =
        query_of(problem, {.rows = rows, .cols = cols, .nonzeros = rows * 3, .longest_row = random.below(5000)});
    if (random.below(4) == 0) query.n.least = 1;
    INFO(to_text(family().default_config(query).to_map()), ", n = ", problem.n);
    CHECK(family().declines(query).value_or("") == "");
    CHECK(family().forbidden(query, family().default_config(query)).value_or("") == "");
  }
  CHECK(test::contains(family().declines(query_of({.n = 64, .math = Math::strict}, graph)).value_or(""), "strict"));
  TopologyStatistics many = graph;
  many.nonzeros = (std::int64_t{1} << 31) - 10;
  CHECK(test::contains(family().declines(query_of({.n = 64}, many)).value_or(""), "32 bits"));
}

TEST_CASE("nonzero_split: chunks are as long as fills the device twice, so longer for more work") {
  const auto items = [](std::int64_t n, const TopologyStatistics& statistics) {
    return ops::nonzero_split::default_config(query_of({.n = n}, statistics)).chunk_items;
  };
  CHECK(items(128, graph) == 128);
  CHECK(items(32, graph) == 32);
  CHECK(items(1024, graph) == 256);
  CHECK(items(128, {.rows = 2048, .cols = 512, .nonzeros = 6591, .longest_row = 500, .mean_row = 3}) == 32);
}

TEST_CASE("nonzero_split: a small matrix times many columns leaves few chunks of a block without items") {
  // Measured on an H200: 175 us with 8 chunks of 128 items, 97 with 4 of 64.
  const TopologyStatistics small{.rows = 64,
                                 .cols = 64,
                                 .nonzeros = 81,
                                 .longest_row = 4,
                                 .empty_rows = 20,
                                 .mean_row = 81 / 64.0,
                                 .row_variation = 0.7};
  const ops::SpmmQuery query = query_of({.n = 802816, .value_lifetime = ValueLifetime::persistent}, small);
  const NonzeroSplitConfig config = ops::nonzero_split::default_config(query);
  const std::int64_t used = ceil_div(small.rows + small.nonzeros, config.chunk_items);
  CHECK(2 * used > config.chunks_per_block);
  CHECK(predicted(family(), query) < 110);
  CHECK(predicted(family(), query) < predicted(row_tile(), query));
  const std::vector<ops::Config> space = family().space(query);
  CHECK(space.front() == family().default_config(query));
  CHECK(std::set<ops::Config>(space.begin(), space.end()).size() == space.size());
}

TEST_CASE(
    "nonzero_split: rows are added up in another launch only where one of them reaches over blocks, and only then take "
    "workspace") {
  const Spmm problem{.n = 30, .batch = 2};
  NonzeroSplitConfig config;
  config.chunk_items = 64;
  config.chunks_per_block = 8;
  config.dense_vector = 2;
  config.tile_columns = 64;
  const auto launches = [&](const TopologyStatistics& statistics) {
    return family().launches(query_of(problem, statistics), ops::Config::of(config), {}).size();
  };
  const auto bytes = [&](const TopologyStatistics& statistics) {
    return family().workspace_bytes(query_of(problem, statistics), ops::Config::of(config));
  };
  TopologyStatistics statistics{.rows = 1000, .cols = 700, .nonzeros = 5000, .longest_row = 63};
  CHECK(launches(statistics) == 1);
  CHECK(bytes(statistics) == 0);
  statistics.longest_row = 64;
  CHECK(launches(statistics) == 2);
  CHECK(bytes(statistics) ==
        12 * 2 * 2 * 32 * 4);  // ceil(6000 / 64) chunks in 12 blocks, two pieces each, of 32 elements, twice
  statistics.rows = 10;
  statistics.nonzeros = 500;
  CHECK(launches(statistics) == 1);  // one block
  CHECK(bytes(statistics) == 0);
}

TEST_CASE("nonzero_split: what is prepared lies before the pieces, and its launches come first") {
  const Spmm problem{.n = 60, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  const ops::SpmmQuery query = query_of(problem, graph);
  NonzeroSplitConfig config = ops::nonzero_split::default_config(query);
  CHECK(config.prepare_dense);
  CHECK(!config.pack_values);
  config.pack_values = true;
  const std::vector<ops::Launch> launches = family().launches(query, ops::Config::of(config), {});
  REQUIRE(launches.size() == 4);
  CHECK(test::contains(launches[2].request().expression, "nonzero_split<"));
  CHECK(test::contains(launches[3].request().expression, "nonzero_split_rows<"));
  alignas(256) std::byte workspace[256] = {};
  const SpmmArguments call{.workspace = workspace, .n = 60};
  NonzeroSplitArgs args{};
  launches[2].bind(&call, &args);
  const std::int64_t prepared = 2000128 + 65536 * 64 * 2;  // values and B in f16, each from a boundary of 256 bytes
  CHECK(reinterpret_cast<std::byte*>(args.pieces) - workspace == prepared);
  CHECK(args.product.values == workspace);
}

TEST_CASE("nonzero_split: a launch fills its arguments, and its grid covers all tiles in either raster") {
  for (const Raster raster : {Raster::rows_first, Raster::columns_first}) {
    const ops::SpmmQuery query = query_of({.n = 200, .batch = 3, .dense_leading = 208}, graph);
    NonzeroSplitConfig config = ops::nonzero_split::default_config(query);
    config.raster = raster;
    const ChunkStart chunks[1] = {};
    std::byte workspace[16] = {};
    const std::vector<ops::Launch> launches = family().launches(query, ops::Config::of(config), {.chunks = chunks});
    REQUIRE(launches.size() == 2);
    const SpmmArguments call{.workspace = workspace, .n = 200};
    const std::int64_t chunk_total = (65536 + 1000000 + config.chunk_items - 1) / config.chunk_items;
    const std::int64_t blocks = (chunk_total + config.chunks_per_block - 1) / config.chunks_per_block;
    for (const bool rows : {false, true}) {
      NonzeroSplitArgs args{};
      const device::LaunchShape shape = launches[rows ? 1 : 0].bind(&call, &args);
      const bool rows_first = rows || raster == Raster::rows_first;
      const int tile_columns = rows ? ops::nonzero_split::split_rows_config(config).tile_columns : config.tile_columns;
      const std::int64_t column_tiles = (200 + tile_columns - 1) / tile_columns;
      CHECK(shape.grid.x == (rows_first ? blocks : column_tiles));
      CHECK(std::int64_t{shape.grid.y} * shape.grid.z >= 3 * (rows_first ? column_tiles : blocks));
      CHECK(args.product.slow_tiles == (rows_first ? column_tiles : blocks));
      CHECK((args.chunks == chunks && args.chunk_count == chunk_total && args.block_count == blocks));
      CHECK((args.piece_leading == 200 && args.cuts_rows && static_cast<void*>(args.pieces) == workspace));
      CHECK((args.product.n == 200 && args.product.dense_leading == 208 && args.product.batch == 3 &&
             args.product.m == 65536U));
    }
  }
}

TEST_CASE("nonzero_split: each rule refuses a config that breaks it, with its reason") {
  struct Breach {
    const char* reason;
    std::function<void(NonzeroSplitConfig&)> change;
  };
  const std::vector<Breach> breaches = {
      {"lie in one warp", [](NonzeroSplitConfig& c) { c.threads_per_row = 64; }},
      {"whole warps", [](NonzeroSplitConfig& c) { c.chunks_per_block = 33; }},
      {"chunk_items", [](NonzeroSplitConfig& c) { c.chunk_items = 0; }},
      {"chunk_items", [](NonzeroSplitConfig& c) { c.chunk_items = 4097; }},
      {"at most 16 bytes", [](NonzeroSplitConfig& c) { c.dense_vector = 8; }},
      {"transposes a column-major B", [](NonzeroSplitConfig& c) { c.prepare_dense = true; }},
      {"tile_nonzeros", [](NonzeroSplitConfig& c) { c.tile_nonzeros = 512; }},
      {"loads_in_flight", [](NonzeroSplitConfig& c) { c.loads_in_flight = 32; }},
      {"multiple of threads_per_row", [](NonzeroSplitConfig& c) { c.tile_columns = 96; }},
      {"tile_columns divides", [](NonzeroSplitConfig& c) { c.column_edge = ColumnEdge::unchecked; }},
      {"min_blocks is 1 to 32", [](NonzeroSplitConfig& c) { c.min_blocks = 0; }},
      {"past the last column",
       [](NonzeroSplitConfig& c) { c.tile_columns = 1024, c.loads_in_flight = 1, c.min_blocks = 1; }},
      {"shared memory",
       [](NonzeroSplitConfig& c) { c.chunks_per_block = 32, c.tile_nonzeros = 256, c.min_blocks = 1; }},
      {"fit the registers", [](NonzeroSplitConfig& c) { c.tile_columns = 512, c.loads_in_flight = 16; }},
  };
  const ops::SpmmQuery query = query_of({.n = 260}, graph);
  for (const Breach& breach : breaches) {
    NonzeroSplitConfig config = ops::nonzero_split::default_config(query);
    breach.change(config);
    const auto reason = ops::nonzero_split::forbidden(query, config);
    INFO(std::string(breach.reason));
    REQUIRE(reason);
    CHECK(test::contains(*reason, breach.reason));
  }
}

TEST_CASE(
    "nonzero_split: the space starts with the default and repeats nothing, and more than the default is raced first "
    "only where rows are uneven or "
    "few") {
  for (const Dtype type : {Dtype::f32, Dtype::f16}) {
    const ops::SpmmQuery query = query_of({.n = 256, .element = type}, graph);
    const std::vector<ops::Config> space = family().space(query);
    CHECK(space.front() == family().default_config(query));
    CHECK(std::set<ops::Config>(space.begin(), space.end()).size() == space.size());
    const auto count = std::count_if(space.begin(), space.end(),
                                     [&](const ops::Config& config) { return !family().forbidden(query, config); });
    CHECK(count >= 200);
    CHECK(count <= 1500);
    const std::vector<ops::Config> list = family().short_list(query);
    CHECK(std::set<ops::Config>(list.begin(), list.end()).size() == list.size());
    CHECK(list.front() == family().default_config(query));
    CHECK((list.size() >= 6 && list.size() <= 13));
    CHECK(family().short_list(query_of({.n = 256, .element = type}, layer)).size() == 1);
  }
  const TopologyStatistics few_rows{
      .rows = 16, .cols = 100000, .nonzeros = 400000, .longest_row = 25100, .mean_row = 25000, .row_variation = 0.01};
  CHECK(family().short_list(query_of({.n = 32}, few_rows)).size() > 1);
}

TEST_CASE(
    "nonzero_split: the heuristic prefers it to row_tile where rows are very uneven or few, and row_tile where they "
    "are even") {
  const auto wins = [](const Spmm& problem, const TopologyStatistics& statistics) {
    const ops::SpmmQuery query = query_of(problem, statistics);
    return predicted(family(), query) < predicted(row_tile(), query);
  };
  CHECK(wins({.n = 32}, graph));
  CHECK(wins({.n = 128}, graph));
  CHECK(wins(
      {.n = 64},
      {.rows = 8, .cols = 100000, .nonzeros = 400000, .longest_row = 50100, .mean_row = 50000, .row_variation = 0.01}));
  for (const std::int64_t n : {1, 32, 256, 2048}) CHECK(!wins({.n = n}, layer));
  CHECK(!wins({.n = 64},
              {.rows = 64, .cols = 64, .nonzeros = 819, .longest_row = 20, .mean_row = 12.8, .row_variation = 0.25}));
  CHECK(std::isfinite(predicted(family(), query_of({.n = 64}, {.rows = 4, .cols = 4}))));
}
