#include "ops/spmm/row_tile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "codegen/fields.hpp"
#include "ops/spmm/problem.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

ops::SpmmQuery query_of(Spmm problem, TopologyStatistics statistics) {
  return {.problem = ops::resolve(problem, problem.n), .statistics = statistics, .n = {problem.n, problem.n}};
}

const TopologyStatistics layer{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 300, .mean_row = 195};
const ops::SpmmFamily& family() { return *ops::find_spmm_family("row_tile"); }

std::optional<std::string> forbidden(const ops::SpmmQuery& query, const std::function<void(RowTileConfig&)>& change) {
  RowTileConfig config = ops::row_tile::default_config(query);
  change(config);
  return ops::row_tile::forbidden(query, config);
}

}  // namespace

TEST_CASE("the default config is admitted for every problem that is not declined") {
  constexpr std::uint64_t seed = 3;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    Spmm problem{.n = std::int64_t{1} << random.below(18)};
    problem.n += random.below(problem.n + 1);
    if (random.below(3) == 0) problem.dense_leading = problem.n + random.below(20);
    if (random.below(3) == 0) problem.output_leading = problem.n + random.below(20);
    problem.alignment_bytes = 4 << random.below(3);
    if (random.below(2) == 0) problem.math = Math::strict;
    const std::int64_t rows = 1 + random.below(std::int64_t{1} << random.below(20));
    ops::SpmmQuery query =
        query_of(problem, {.rows = rows, .cols = 1 + random.below(100000), .nonzeros = rows * 3, .longest_row = random.below(5000)});
    if (random.below(4) == 0) query.n.least = 1;
    REQUIRE(!family().declines(query));
    const auto reason = family().forbidden(query, family().default_config(query));
    INFO(to_text(family().default_config(query)), ", n = ", problem.n);
    CHECK_MESSAGE(!reason, reason.value_or(""));
  }
}

TEST_CASE("the default is the paper's heuristic: n rounded up to a power of two, at most 64 columns, widest legal vectors") {
  struct Expected {
    std::int64_t n;
    int alignment, tile_columns, dense_vector, sparse_vector;
  };
  for (const Expected& e : {Expected{1, 16, 1, 1, 4},
                            {4, 16, 4, 4, 4},
                            {6, 16, 8, 2, 4},
                            {7, 16, 8, 1, 4},
                            {32, 16, 32, 4, 4},
                            {196, 16, 64, 4, 4},
                            {2048, 16, 64, 4, 4},
                            {2048, 8, 64, 2, 2},
                            {2048, 4, 64, 1, 1}}) {
    const RowTileConfig config = ops::row_tile::default_config(query_of({.n = e.n, .alignment_bytes = e.alignment}, layer));
    INFO("n = ", e.n, ", alignment ", e.alignment);
    CHECK(config.tile_columns == e.tile_columns);
    CHECK(config.dense_vector == e.dense_vector);
    CHECK(config.sparse_vector == e.sparse_vector);
  }
}

TEST_CASE("the space starts with the default, repeats nothing, and its admitted part and short list are of the promised size") {
  for (const Math math : {Math::accurate, Math::strict}) {
    const ops::SpmmQuery query = query_of({.n = 256, .math = math}, layer);
    const std::vector<FieldMap> space = family().space(query);
    CHECK(space.front() == family().default_config(query));
    CHECK(std::set<FieldMap>(space.begin(), space.end()).size() == space.size());
    const auto count = std::count_if(space.begin(), space.end(), [&](const FieldMap& config) { return !family().forbidden(query, config); });
    CHECK(count >= 300);
    CHECK(count <= 1500);
    const std::vector<FieldMap> list = family().short_list(query);
    CHECK(std::set<FieldMap>(list.begin(), list.end()).size() == list.size());
    CHECK(list.size() <= 24);
    CHECK(list.front() == family().default_config(query));
  }
}

TEST_CASE("each rule refuses a config that breaks it, with its reason") {
  struct Breach {
    const char* reason;
    std::function<void(RowTileConfig&)> change;
  };
  const std::vector<Breach> breaches = {
      {"powers of two", [](RowTileConfig& c) { c.threads_per_row = 12; }},
      {"lie in one warp", [](RowTileConfig& c) { c.row_split = 4; }},
      {"whole warps", [](RowTileConfig& c) { c.tile_rows = 64; }},
      {"are 1, 2 or 4", [](RowTileConfig& c) { c.dense_vector = 8; }},
      {"needs reverse_offset_alignment", [](RowTileConfig& c) { c.reverse_offset_alignment = false; }},
      {"multiple of threads_per_row", [](RowTileConfig& c) { c.tile_columns = 96; }},
      {"tile_nonzeros", [](RowTileConfig& c) { c.tile_nonzeros = 1024; }},
      {"loads_in_flight", [](RowTileConfig& c) { c.loads_in_flight = 3; }},
      {"needs row_swizzle", [](RowTileConfig& c) { c.row_swizzle = false, c.deal_rows = true; }},
      {"min_blocks is at least 1", [](RowTileConfig& c) { c.min_blocks = 0; }},
      {"fit the registers", [](RowTileConfig& c) { c.loads_in_flight = 64; }},
      {"past the last column", [](RowTileConfig& c) { c.tile_columns = 512, c.loads_in_flight = c.residue_unroll = 2, c.min_blocks = 1; }},
      {"shared memory", [](RowTileConfig& c) { c.tile_nonzeros = 512, c.tile_rows = 32, c.min_blocks = 1; }},
  };
  const ops::SpmmQuery query = query_of({.n = 256}, layer);
  for (const Breach& breach : breaches) {
    const auto reason = forbidden(query, breach.change);
    INFO(std::string(breach.reason));
    REQUIRE(reason);
    CHECK(reason->find(breach.reason) != std::string::npos);
  }
}

TEST_CASE("rules that depend on the problem refuse the default of a kinder one") {
  const RowTileConfig wide = ops::row_tile::default_config(query_of({.n = 256}, layer));
  const auto reason = [&](const Spmm& problem, RowTileConfig config) {
    return ops::row_tile::forbidden(query_of(problem, layer), config).value_or("");
  };
  CHECK(reason({.n = 256}, wide).empty());
  CHECK(reason({.n = 256, .alignment_bytes = 8}, wide).find("alignment of B") != std::string::npos);
  CHECK(reason({.n = 256, .dense_leading = 258}, wide).find("alignment of B") != std::string::npos);
  CHECK(reason({.n = 254, .dense_leading = 256, .output_leading = 256}, wide).find("does not divide n") != std::string::npos);
  CHECK(reason({.n = 256, .math = Math::strict}, wide).find("row_split is 1") != std::string::npos);
  RowTileConfig unchecked = wide;
  unchecked.column_edge = ColumnEdge::unchecked;
  CHECK(reason({.n = 256}, unchecked).empty());
  CHECK(reason({.n = 260}, unchecked).find("tile_columns divides") != std::string::npos);
  FieldMap garbled = codegen::to_map(wide);
  garbled["raster"] = "diagonal";
  CHECK(family().forbidden(query_of({.n = 256}, layer), garbled));
}

TEST_CASE("offsets take 64 bits from the first byte past 2^31, and sums are blocked only where rows are long and math is not strict") {
  const auto traits = [](const Spmm& problem, const TopologyStatistics& statistics) { return ops::row_tile::traits(query_of(problem, statistics)); };
  const auto with_cols = [](std::int64_t cols) { return TopologyStatistics{.rows = 1, .cols = cols, .nonzeros = 1, .longest_row = 1}; };
  CHECK(!traits({.n = 1024}, with_cols((std::int64_t{1} << 19) - 1)).wide_offsets);
  CHECK(traits({.n = 1024}, with_cols(std::int64_t{1} << 19)).wide_offsets);
  CHECK(traits({.n = 4, .dense_leading = 1024}, with_cols(std::int64_t{1} << 19)).wide_offsets);
  CHECK(traits({.n = 64}, layer).blocked_sum);
  CHECK(!traits({.n = 64, .math = Math::strict}, layer).blocked_sum);
  TopologyStatistics short_rows = layer;
  short_rows.longest_row = 256;
  CHECK(!traits({.n = 64}, short_rows).blocked_sum);
}

TEST_CASE("bind fills every argument and a grid that covers all tiles in either raster") {
  TopologyStatistics tall = layer;
  tall.rows = 1'000'003;
  for (const Raster raster : {Raster::rows_first, Raster::columns_first}) {
    const ops::SpmmQuery query = query_of({.n = 200, .dense_leading = 208}, tall);
    RowTileConfig config = ops::row_tile::default_config(query);
    config.raster = raster;
    ops::SpmmLaunch launch = family().launch(query, codegen::to_map(config));
    const int values = 0, dense = 0, output = 0, bias = 0, offsets = 0, columns = 0, order = 0;
    launch.topology = {.row_offsets = &offsets, .column_indices = &columns, .row_order = &order};
    const SpmmArguments user{.values = &values, .dense = &dense, .output = const_cast<int*>(&output), .bias = &bias, .scale = 0.5F};
    RowTileArgs args{};
    const device::Dim3 grid = launch.bind(launch, user, 200, &args);
    const std::int64_t row_tiles = (tall.rows + config.tile_rows - 1) / config.tile_rows;
    const std::int64_t column_tiles = (200 + config.tile_columns - 1) / config.tile_columns;
    const std::int64_t slow = std::int64_t{grid.y} * grid.z;
    CHECK(grid.y <= 65535);
    CHECK(grid.z <= 65535);
    CHECK(grid.x == (raster == Raster::rows_first ? row_tiles : column_tiles));
    CHECK(slow >= (raster == Raster::rows_first ? column_tiles : row_tiles));
    CHECK(launch.shape.block.x == static_cast<unsigned>(threads(config)));
    CHECK(launch.shape.shared_bytes == shared_bytes(ops::row_tile::traits(query), config));
    CHECK((args.values == &values && args.dense == &dense && args.output == &output && static_cast<const void*>(args.bias) == &bias));
    CHECK((args.row_offsets == &offsets && args.column_indices == &columns && args.row_order == &order));
    CHECK((args.n == 200 && args.dense_leading == 208 && args.output_leading == 200));
    CHECK((args.m == 1'000'003U && args.nonzeros == 100000U && args.scale == 0.5F));
  }
}

TEST_CASE("predictions grow with the work and prefer neither nonsense nor nothing") {
  const auto predicted = [](std::int64_t n) {
    const ops::SpmmQuery query = query_of({.n = n}, layer);
    return family().predict_us(query, family().default_config(query));
  };
  CHECK(predicted(64) > 0);
  CHECK(predicted(2048) > predicted(256));
  CHECK(predicted(16384) > 4 * predicted(2048));
  const ops::SpmmQuery empty = query_of({.n = 64}, {.rows = 4, .cols = 4});
  CHECK(std::isfinite(family().predict_us(empty, family().default_config(empty))));
}

TEST_CASE("a family that this version does not have is not found") { CHECK(ops::find_spmm_family("column_tile") == nullptr); }
