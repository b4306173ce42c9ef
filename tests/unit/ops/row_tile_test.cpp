#include "ops/spmm/row_tile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "codegen/fields.hpp"
#include "contains.hpp"
#include "ops/spmm/problem.hpp"
#include "sparse/generate.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::pick;
using test::query_of;

const TopologyStatistics layer{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 300, .mean_row = 195};
const ops::Family& family() { return *ops::find_family("spmm", "row_tile"); }

std::optional<std::string> forbidden(const ops::SpmmQuery& query, const std::function<void(RowTileConfig&)>& change) {
  RowTileConfig config = ops::row_tile::default_config(query);
  change(config);
  return ops::row_tile::forbidden(query, config);
}

/// Any problem that a user may state.
Spmm random_problem(sparse::Random& random, std::int64_t rows, std::int64_t cols) {
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
  if (random.below(3) == 0) problem.value_stride = rows * 3 + random.below(9);
  problem.alignment_bytes = size_of(problem.element) << random.below(3);
  if (random.below(2) == 0) problem.math = Math::strict;
  return problem;
}

}  // namespace

TEST_CASE("the default config is admitted for every problem that is not declined") {
  constexpr std::uint64_t seed = 3;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t rows = 1 + random.below(std::int64_t{1} << random.below(20));
    const std::int64_t cols = 1 + random.below(100000);
    const Spmm problem = random_problem(random, rows, cols);
    ops::SpmmQuery query =
        query_of(problem, {.rows = rows, .cols = cols, .nonzeros = rows * 3, .longest_row = random.below(5000)});
    if (random.below(4) == 0) query.n.least = 1;
    REQUIRE(!family().declines(query));
    const auto reason = family().forbidden(query, family().default_config(query));
    INFO(to_text(family().default_config(query).to_map()), ", n = ", problem.n);
    CHECK_MESSAGE(!reason, reason.value_or(""));
  }
}

TEST_CASE(
    "the paper's heuristic is in the short list: n rounded up to a power of two, at most 64 columns, widest legal "
    "vectors") {
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
    const RowTileConfig config =
        ops::row_tile::paper_config(query_of({.n = e.n, .alignment_bytes = e.alignment}, layer));
    INFO("n = ", e.n, ", alignment ", e.alignment);
    CHECK(config.tile_columns == e.tile_columns);
    CHECK(config.dense_vector == e.dense_vector);
    CHECK(config.sparse_vector == e.sparse_vector);
    const ops::SpmmQuery query = query_of({.n = e.n, .alignment_bytes = e.alignment}, layer);
    const std::vector<RowTileConfig> list = ops::row_tile::short_list(query);
    CHECK(std::find(list.begin(), list.end(), config) != list.end());
  }
}

TEST_CASE("the default is what the cost model likes best of the short list's shapes with the likeliest preparation") {
  for (const Spmm& problem : {Spmm{.n = 256}, Spmm{.n = 2048}, Spmm{.n = 3, .math = Math::strict}})
    for (const double density : {0.02, 0.3}) {
      TopologyStatistics statistics{
          .rows = 512, .cols = 2048, .nonzeros = static_cast<std::int64_t>(512 * 2048 * density), .longest_row = 700};
      statistics.mean_row = static_cast<double>(statistics.nonzeros) / 512;
      const ops::SpmmQuery query = query_of(problem, statistics);
      const RowTileConfig chosen = ops::row_tile::default_config(query);
      for (const RowTileConfig& other : ops::row_tile::short_list(query)) {
        if (ops::row_tile::forbidden(query, other) || other.prepare_dense != chosen.prepare_dense) continue;
        CHECK(ops::row_tile::predict_us(query, chosen) <= ops::row_tile::predict_us(query, other));
      }
    }
}

TEST_CASE(
    "the default of 16-bit elements leaves out what may spill, and is the paper's heuristic where sums are kept in two "
    "levels") {
  for (const std::int64_t longest : {100, 2000})
    for (const Activation activation : {Activation::none, Activation::gelu}) {
      const Spmm problem{.n = 256, .element = Dtype::f16, .epilogue = {.activation = activation}};
      const ops::SpmmQuery query =
          query_of(problem, {.rows = 512, .cols = 2048, .nonzeros = 50000, .longest_row = longest, .mean_row = 98});
      const RowTileConfig chosen = ops::row_tile::default_config(query);
      const bool has_many_loads = chosen.loads_in_flight == 8 && chosen.overlap_batches;
      const bool shares_rows = chosen.row_split > 1;
      CHECK_FALSE((has_many_loads && shares_rows && (chosen.slot_entries > 0 || activation != Activation::none)));
      CHECK(ops::row_tile::traits(query).blocked_sum == (longest == 2000));
      if (longest == 2000) CHECK(chosen == ops::row_tile::paper_config(query));
      // It takes the many loads where it may: they are what the model likes best.
      else if (activation == Activation::none) CHECK(has_many_loads);
    }
}

TEST_CASE("few blocks for many multiprocessors cost what the busiest one takes in") {
  // Rows that share next to nothing of B: larger tiles save no reads.
  const ops::SpmmQuery query =
      query_of({.n = 128}, {.rows = 256, .cols = 1'000'000, .nonzeros = 80000, .longest_row = 400, .mean_row = 312});
  RowTileConfig config = ops::row_tile::paper_config(query);
  const double many = ops::row_tile::predict_us(query, config);
  config.tile_rows *= 8;
  CHECK(ops::row_tile::predict_us(query, config) > 1.5 * many);
}

TEST_CASE("16-bit elements take eight of a kind, and tiles of as many bytes") {
  for (const Dtype type : {Dtype::f16, Dtype::bf16}) {
    const RowTileConfig config = ops::row_tile::paper_config(query_of({.n = 256, .element = type}, layer));
    CHECK(config.dense_vector == 8);
    CHECK(config.sparse_vector == 8);
    CHECK(config.tile_columns == 128);
    CHECK(ops::row_tile::paper_config(query_of({.n = 252, .element = type}, layer)).dense_vector == 4);
    CHECK(
        ops::row_tile::paper_config(query_of({.n = 256, .element = type, .alignment_bytes = 2}, layer)).dense_vector ==
        1);
  }
}

TEST_CASE("vectors are as wide as B, C and what is prepared allow") {
  const auto vector = [](const Spmm& problem) {
    return ops::row_tile::paper_config(query_of(problem, layer)).dense_vector;
  };
  CHECK(vector({.n = 64, .element = Dtype::f16, .output = Dtype::f32, .alignment_bytes = 8}) == 2);
  CHECK(vector({.n = 64, .element = Dtype::f32, .output = Dtype::f16, .alignment_bytes = 8}) == 2);
  CHECK(vector({.n = 64, .output_leading = 66}) == 2);
  CHECK(vector({.n = 64, .output_layout = Layout::column_major, .output_leading = 513}) == 4);  // stored one by one
  CHECK(vector({.n = 64, .dense_layout = Layout::column_major, .dense_leading = 2049}) == 4);   // prepared first
  CHECK(vector({.n = 64, .batch = 2, .dense_stride = 2048 * 64 + 1}) == 1);
}

TEST_CASE(
    "a column-major B is prepared and a transposed A's values are looked up by default, and the space holds the other "
    "ways") {
  const ops::SpmmQuery query =
      query_of({.n = 64, .sparse_transposed = true, .dense_layout = Layout::column_major}, layer);
  const RowTileConfig config = ops::row_tile::default_config(query);
  CHECK(config.prepare_dense);
  CHECK(!config.pack_values);
  CHECK(!ops::row_tile::default_config(query_of({.n = 1, .dense_layout = Layout::column_major}, layer)).prepare_dense);
  std::set<std::pair<bool, bool>> ways;
  for (const RowTileConfig& listed : ops::row_tile::short_list(query))
    if (!ops::row_tile::forbidden(query, listed)) ways.insert({listed.prepare_dense, listed.pack_values});
  CHECK(ways.size() == 4);
}

TEST_CASE("the workspace holds packed values and the prepared B, each on its boundary, for the largest n") {
  const Spmm problem{
      .n = 60, .batch = 3, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
  const ops::SpmmQuery query = query_of(problem, {.rows = 7, .cols = 10, .nonzeros = 33, .longest_row = 5});
  RowTileConfig config = ops::row_tile::default_config(query);
  const auto bytes = [&] { return family().workspace_bytes(query, ops::Config::of(config)); };
  CHECK(bytes() == 3840);  // 3 * 10 * 64 elements, whole lines of 16 bytes
  CHECK(family().launches(query, ops::Config::of(config), {}).size() == 2);
  config.pack_values = true;
  CHECK(bytes() == 256 + 3840);
  CHECK(family().launches(query, ops::Config::of(config), {}).size() == 3);
  config.prepare_dense = config.pack_values = false;
  CHECK(bytes() == 0);
  CHECK(family().launches(query, ops::Config::of(config), {}).size() == 1);
}

TEST_CASE("B is not prepared where A has no nonzeros: nothing would read it") {
  const ops::SpmmQuery query = query_of({.n = 60, .dense_layout = Layout::column_major}, {.rows = 7, .cols = 10});
  RowTileConfig config = ops::row_tile::default_config(query);
  config.prepare_dense = true;
  CHECK(family().launches(query, ops::Config::of(config), {}).size() == 1);
}

TEST_CASE(
    "the space starts with the default, repeats nothing, and its admitted part and short list are of the promised "
    "size") {
  std::vector<Spmm> problems;
  for (const Math math : {Math::accurate, Math::strict})
    for (const Dtype type : {Dtype::f32, Dtype::bf16}) problems.push_back({.n = 256, .element = type, .math = math});
  problems.push_back(
      {.n = 256, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major});
  for (const Spmm& problem : problems) {
    const ops::SpmmQuery query = query_of(problem, layer);
    const std::vector<ops::Config> space = family().space(query);
    CHECK(space.front() == family().default_config(query));
    CHECK(std::set<ops::Config>(space.begin(), space.end()).size() == space.size());
    const auto count = std::count_if(space.begin(), space.end(),
                                     [&](const ops::Config& config) { return !family().forbidden(query, config); });
    CHECK(count >= 300);
    CHECK(count <= (problem.element == Dtype::f32 ? 2200 : 1800));
    const std::vector<ops::Config> list = family().short_list(query);
    CHECK(std::set<ops::Config>(list.begin(), list.end()).size() == list.size());
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
      {"at most 16 bytes", [](RowTileConfig& c) { c.dense_vector = 8; }},
      {"transposes a column-major B", [](RowTileConfig& c) { c.prepare_dense = true; }},
      {"a transposed A", [](RowTileConfig& c) { c.pack_values = true; }},
      {"needs reverse_offset_alignment", [](RowTileConfig& c) { c.reverse_offset_alignment = false; }},
      {"multiple of threads_per_row", [](RowTileConfig& c) { c.tile_columns = 96; }},
      {"tile_nonzeros", [](RowTileConfig& c) { c.tile_nonzeros = 1024; }},
      {"loads_in_flight", [](RowTileConfig& c) { c.loads_in_flight = 3; }},
      {"needs row_swizzle", [](RowTileConfig& c) { c.row_swizzle = false, c.deal_rows = true; }},
      {"slot_entries needs row_swizzle", [](RowTileConfig& c) { c.row_swizzle = false, c.slot_entries = 64; }},
      {"slot_entries is 0 or a power of two", [](RowTileConfig& c) { c.slot_entries = 48; }},
      {"slot_entries is 0 or a power of two", [](RowTileConfig& c) { c.slot_entries = 256, c.tile_nonzeros = 128; }},
      {"slot_entries is at least as many", [](RowTileConfig& c) { c.slot_entries = 32, c.residue_unroll = 32; }},
      {"row_pieces is a power of two",
       [](RowTileConfig& c) { c.slot_entries = 64, c.row_pieces = 3, c.deal_rows = false; }},
      {"row_pieces is a power of two",
       [](RowTileConfig& c) { c.slot_entries = 64, c.tile_rows = 4, c.row_pieces = 8, c.deal_rows = false; }},
      {"pieces of rows have slots",
       [](RowTileConfig& c) { c.slot_entries = 0, c.tile_rows = 4, c.row_pieces = 2, c.deal_rows = false; }},
      {"excludes deal_rows",
       [](RowTileConfig& c) { c.slot_entries = 64, c.tile_rows = 4, c.row_pieces = 2, c.deal_rows = true; }},
      {"min_blocks is 1 to 32", [](RowTileConfig& c) { c.min_blocks = 0; }},
      {"fit the registers", [](RowTileConfig& c) { c.loads_in_flight = 64; }},
      {"past the last column",
       [](RowTileConfig& c) { c.tile_columns = 512, c.loads_in_flight = c.residue_unroll = 2, c.min_blocks = 1; }},
      {"shared memory", [](RowTileConfig& c) { c.tile_nonzeros = 512, c.tile_rows = 32, c.min_blocks = 1; }},
  };
  const ops::SpmmQuery query = query_of({.n = 256}, layer);
  for (const Breach& breach : breaches) {
    const auto reason = forbidden(query, breach.change);
    INFO(std::string(breach.reason));
    REQUIRE(reason);
    CHECK(test::contains(*reason, breach.reason));
  }
}

TEST_CASE("rules that depend on the problem refuse the default of a kinder one") {
  const RowTileConfig wide = ops::row_tile::default_config(query_of({.n = 256}, layer));
  const auto reason = [&](const Spmm& problem, RowTileConfig config) {
    return ops::row_tile::forbidden(query_of(problem, layer), config).value_or("");
  };
  CHECK(reason({.n = 256}, wide).empty());
  CHECK(test::contains(reason({.n = 256, .alignment_bytes = 8}, wide), "alignment of B"));
  CHECK(test::contains(reason({.n = 256, .dense_leading = 258}, wide), "alignment of B"));
  CHECK(test::contains(reason({.n = 256, .output_leading = 258}, wide), "alignment of C"));
  CHECK(test::contains(reason({.n = 256, .dense_layout = Layout::column_major}, wide), "dense_vector is 1"));
  CHECK(test::contains(reason({.n = 254, .dense_leading = 256, .output_leading = 256}, wide), "does not divide n"));
  CHECK(test::contains(reason({.n = 256, .math = Math::strict}, wide), "row_split is 1"));
  RowTileConfig unchecked = wide;
  unchecked.column_edge = ColumnEdge::unchecked;
  CHECK(reason({.n = 256}, unchecked).empty());
  CHECK(test::contains(reason({.n = 260}, unchecked), "tile_columns divides"));
  FieldMap garbled = codegen::to_map(wide);
  garbled["raster"] = "diagonal";
  CHECK(!family().read(garbled));
}

TEST_CASE(
    "offsets take 64 bits from the first byte past 2^31, and sums are blocked only where rows are long and math is not "
    "strict") {
  const auto traits = [](const Spmm& problem, const TopologyStatistics& statistics) {
    return ops::row_tile::traits(query_of(problem, statistics));
  };
  const auto with_cols = [](std::int64_t cols) {
    return TopologyStatistics{.rows = 1, .cols = cols, .nonzeros = 1, .longest_row = 1};
  };
  CHECK(!traits({.n = 1024}, with_cols((std::int64_t{1} << 19) - 1)).wide_offsets);
  CHECK(traits({.n = 1024}, with_cols(std::int64_t{1} << 19)).wide_offsets);
  CHECK(traits({.n = 4, .dense_leading = 1024}, with_cols(std::int64_t{1} << 19)).wide_offsets);
  CHECK(traits({.n = 64}, layer).blocked_sum);
  CHECK(!traits({.n = 64, .math = Math::strict}, layer).blocked_sum);
  TopologyStatistics short_rows = layer;
  short_rows.longest_row =
      224;  // an eighth short of a block: a mask that replaces this one may have somewhat longer rows
  TopologyStatistics many = layer;
  CHECK(!traits({.n = 64}, many).wide_nonzeros);
  many.nonzeros = std::int64_t{1} << 31;
  CHECK(traits({.n = 64}, many).wide_nonzeros);
  CHECK(family().declines(query_of({.n = 64, .sparse_transposed = true}, many)));
  CHECK(!traits({.n = 64}, short_rows).blocked_sum);
}

TEST_CASE("slots of a transposed A need values that are gathered first, and pieces need math that may reorder sums") {
  RowTileConfig config = ops::row_tile::paper_config(query_of({.n = 256}, layer));
  config.slot_entries = 64;
  const auto reason = [&](const Spmm& problem) {
    return ops::row_tile::forbidden(query_of(problem, layer), config).value_or("");
  };
  CHECK(test::contains(reason({.n = 256, .sparse_transposed = true}), "pack_values"));
  config.row_split = 1;
  config.threads_per_row = 32;
  config.tile_columns = 128;
  CHECK(reason({.n = 256, .math = Math::strict}).empty());
  config.row_pieces = 2;
  CHECK(test::contains(reason({.n = 256, .math = Math::strict}), "row_pieces is 1"));
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

TEST_CASE("a family that this version does not have is not found") {
  CHECK(ops::find_family("spmm", "column_tile") == nullptr);
}
