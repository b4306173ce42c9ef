#include "ops/spmm/unpack_mma.hpp"
#include "ops/families.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "base/checked.hpp"
#include "codegen/fields.hpp"
#include "contains.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/split_dense.hpp"
#include "sparse/generate.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/ops/config_lists.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::check_short_list;
using test::check_space;
using test::contains;
using test::query_of;
using test::random_tensor_problem;
using test::shape_of;
using test::statistics_of;

const TopologyStatistics layer = statistics_of(8192, 2048, 0.1);

const ops::Family& family() {
  static const auto made = ops::make_unpack_mma();
  return *made;
}

/// The reason against the default config with one change.
std::string forbidden(const ops::SpmmQuery& query, const std::function<void(UnpackMmaConfig&)>& change) {
  UnpackMmaConfig config = ops::unpack_mma::default_config(query);
  change(config);
  return ops::unpack_mma::forbidden(query, config).value_or("");
}

}  // namespace

TEST_CASE(
    "the smallest config is admitted at usual sizes, so that nothing is ranked to find out whether the family serves "
    "them") {
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const Layout layout : {Layout::row_major, Layout::column_major})
      for (const auto& [rows, cols] :
           {std::pair<std::int64_t, std::int64_t>{64, 64}, {512, 512}, {2048, 512}, {8192, 8192}})
        for (const std::int64_t n : {1, 8, 32, 33, 256, 4096})
          for (const double density : {0.02, 0.1, 0.5}) {
            const auto query =
                query_of({.n = n, .element = element, .dense_layout = layout}, statistics_of(rows, cols, density));
            CAPTURE(rows);
            CAPTURE(cols);
            CAPTURE(n);
            CAPTURE(density);
            CHECK(ops::unpack_mma::forbidden(query, ops::unpack_mma::smallest_config(query)).value_or("") == "");
          }
}

TEST_CASE("unpack_mma serves the emulator and GPUs from sm_80 on, and nothing that tensor cores may not do") {
  for (const char* served : {"emulator", "sm_80", "sm_86", "sm_90", "sm_120"}) CHECK(family().runs_on(served));
  CHECK_FALSE(family().runs_on("sm_75"));
  const auto declined = [](const Spmm& problem, const TopologyStatistics& statistics) {
    return family().declines(query_of(problem, statistics)).value_or("");
  };
  CHECK(declined({.n = 128}, layer).empty());
  CHECK(contains(declined({.n = 128, .math = Math::strict}, layer), "strict"));
  CHECK(declined({.n = 128, .nonfinite = NonFinite::sparse}, layer).empty());
  CHECK(contains(declined({.n = 128}, {.rows = 8, .cols = 8}), "no nonzeros"));
  CHECK(contains(declined({.n = 128}, statistics_of(64, 70000, 0.1)), "65536"));
  CHECK(declined({.n = 128, .math = Math::tf32}, statistics_of(64, 70000, 0.1)).empty());
  CHECK(declined({.n = 128, .element = Dtype::f16}, statistics_of(64, 70000, 0.1)).empty());
  TopologyStatistics repeated = layer;
  repeated.duplicates = true;
  CHECK(contains(declined({.n = 128}, repeated), "twice"));
}

TEST_CASE("unpack_mma's default config is admitted for every problem, and lists begin with it and repeat nothing") {
  constexpr std::uint64_t seed = 13;
  INFO("seed " << seed);
  sparse::Random random(seed);
  test::FakeDevice device;
  for (int i = 0; i < 200; ++i) {
    const Spmm problem = random_tensor_problem(random);
    const TopologyStatistics statistics =
        statistics_of(1 + random.below(9000), 1 + random.below(9000), 0.01 * static_cast<double>(1 + random.below(99)));
    const ops::SpmmQuery query = query_of(problem, statistics, i % 2 == 0 ? nullptr : &device);
    INFO(ops::exact_key(problem), ", n = ", problem.n, ", ", statistics.rows, " x ", statistics.cols);
    check_short_list(family(), query, 16);
    if (i % 20 == 0) check_space(family(), query, 2000);
  }
}

TEST_CASE("unpack_mma's default leaves no slice of k empty where blocks of k are no multiple of slices") {
  const Spmm problem{.n = 12, .element = Dtype::bf16, .output = Dtype::f16, .alignment_bytes = 8};
  const ops::SpmmQuery query = query_of(problem, statistics_of(382, 8241, 0.05));  // 129 blocks of 64
  CHECK_FALSE(family().declines(query));
  const int split = ops::unpack_mma::default_config(query).k_split;
  CHECK((split - 1) * ceil_div(129, split) < 129);
}

TEST_CASE("unpack_mma's mode follows the elements, and the format follows the mode") {
  const auto mode_of = [](const Spmm& problem) {
    const ops::SpmmQuery query = query_of(problem, layer);
    return family().packed_format(query, family().default_config(query));
  };
  CHECK(mode_of({.n = 64, .element = Dtype::f16}) == "strip16x64/pair/f16x1");
  CHECK(mode_of({.n = 64, .element = Dtype::bf16}) == "strip16x64/pair/bf16x1");
  CHECK(mode_of({.n = 64}) == "strip16x64/pair/f16x3/marked");
  CHECK(mode_of({.n = 64, .nonfinite = NonFinite::dense}) == "strip16x64/pair/f16x3");
  CHECK(mode_of({.n = 64, .math = Math::tf32}) == "strip16x64/pair/f16_scaled/marked");
}

TEST_CASE("unpack_mma's rules name what they forbid") {
  const ops::SpmmQuery query = query_of({.n = 128}, layer);
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.row_warps = 3; }), "power of two"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.warp_strips = 16; }), "strips"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.row_warps = 2, c.column_warps = 1, c.k_warps = 2; }),
                 "k_warps"));
  CHECK(contains(
      forbidden(query, [](UnpackMmaConfig& c) { c.row_warps = 1, c.column_warps = 1, c.k_warps = 16, c.k_split = 4; }),
      "k_warps"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.warp_columns = 48; }), "warp_columns"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.mode = PackedMode::bf16x3; }), "mode"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.mode = PackedMode::f16x1; }), "mode"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.stages = 9; }), "stages"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.prepare_dense = false, c.stages = 2; }), "stages"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.strip_pairs = 30; }), "strip_pairs"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.promotion_blocks = 4; }), "promotion_blocks"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.k_split = 0; }), "k_split"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.k_split = 33; }), "slices"));
  CHECK(contains(forbidden(query, [](UnpackMmaConfig& c) { c.strip_pairs = 512, c.stages = 8; }), "shared memory"));
  CHECK(contains(forbidden(query,
                           [](UnpackMmaConfig& c) {
                             c.warp_strips = 4, c.row_warps = 1, c.column_warps = 1, c.warp_columns = 128, c.stages = 2;
                           }),
                 "registers"));
  CHECK(contains(
      forbidden(query_of({.n = 9}, layer),
                [](UnpackMmaConfig& c) { c.warp_columns = 32, c.warp_strips = 1, c.stages = 3, c.min_blocks = 1; }),
      "columns"));
  CHECK(contains(
      forbidden(query_of({.n = 128, .element = Dtype::f16}, layer), [](UnpackMmaConfig& c) { c.prepare_dense = true; }),
      "prepared"));
  const ops::SpmmQuery few_rows = query_of({.n = 128}, statistics_of(20, 2048, 0.1));
  CHECK(contains(
      forbidden(few_rows,
                [](UnpackMmaConfig& c) { c.row_warps = 2, c.column_warps = 1, c.warp_strips = 2, c.min_blocks = 1; }),
      "row"));
}

TEST_CASE("unpack_mma cuts a long k for accurate products, so that no sum of f32 rounds too often") {
  const TopologyStatistics deep = statistics_of(8192, 16384, 0.1);
  for (const Math math : {Math::accurate, Math::tf32}) {
    const ops::SpmmQuery query = query_of({.n = 2048, .math = math}, deep);
    UnpackMmaConfig config = ops::unpack_mma::default_config(query);
    if (math == Math::accurate) CHECK(config.k_split >= 4);
    config.mode = PackedMode::f16x3;
    config.k_split = 1;
    CHECK(contains(ops::unpack_mma::forbidden(query, config).value_or(""), "4096") == (math == Math::accurate));
  }
}

TEST_CASE("a stage of unpack_mma holds B and the strips, and blocks that split B have two buffers of it") {
  // f16x3, 128 rows x 64 columns: 16 KiB of B, 8 strips of a header and 100 pairs of two words, and their nine starts.
  const UnpackMmaConfig prepared{.mode = PackedMode::f16x3,
                                 .row_warps = 4,
                                 .warp_columns = 64,
                                 .stages = 3,
                                 .strip_pairs = 100,
                                 .prepare_dense = true};
  CHECK(shared_bytes(UnpackMmaTraits{.element = Dtype::f32}, prepared) ==
        (3 * (16384 + 8 * (128 + 800) + 48 + 256) + 2 * 2 * 48 + 127) / 128 * 128);
  UnpackMmaConfig splitting = prepared;
  splitting.prepare_dense = false;
  CHECK(shared_bytes(UnpackMmaTraits{.element = Dtype::f32}, splitting) ==
        (3 * (16384 + 8 * (128 + 800) + 48) + 2 * 2 * 48 + 2 * (16384 + 256) + 127) / 128 * 128);
  const UnpackMmaConfig direct{.mode = PackedMode::f16x1, .row_warps = 4, .warp_columns = 16, .stages = 4};
  CHECK(shared_bytes(UnpackMmaTraits{}, direct) == (4 * (2048 + 8 * (128 + 2048) + 48) + 2 * 3 * 48 + 127) / 128 * 128);
  UnpackMmaConfig in_bulk = direct;
  in_bulk.stages = 8;  // each with a barrier
  in_bulk.bulk_strips = true;
  CHECK(shared_bytes(UnpackMmaTraits{}, in_bulk) ==
        (8 * (2048 + 8 * (128 + 2048) + 48) + 2 * 7 * 48 + 127) / 128 * 128 + 128);
}

TEST_CASE(
    "unpack_mma's strips come in bulk where there is a copy engine, and are streamed where the next call finds them in "
    "L2 no longer") {
  const TopologyStatistics weights = statistics_of(8192, 8192, 0.2);
  const Spmm problem{.n = 8, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
  const auto in_bulk = [](UnpackMmaConfig& c) { c.bulk_strips = true, c.stream_strips = false; };
  CHECK(contains(forbidden(query_of(problem, weights), in_bulk), "copy engine"));

  const test::FakeDevice hopper;
  ops::SpmmQuery query = query_of(problem, weights, &hopper);
  CHECK(forbidden(query, in_bulk).empty());
  CHECK(
      contains(forbidden(query, [](UnpackMmaConfig& c) { c.bulk_strips = false, c.stream_strips = true; }), "in bulk"));
  for (const Policy policy : {Policy::warm, Policy::cold}) {
    query.policy = policy;
    std::set<std::tuple<bool, bool, bool>> ways;  // of teams, in bulk, streamed
    for (const UnpackMmaConfig& c : ops::unpack_mma::space(query))
      if (ops::unpack_mma::admits(query, c)) ways.emplace(teams(c) > 1, c.bulk_strips, c.stream_strips);
    const bool streams = policy == Policy::cold;
    const std::set<std::tuple<bool, bool, bool>> wanted = {
        {false, false, false}, {false, true, streams}, {true, false, false}, {true, true, streams}};
    CHECK(ways == wanted);
  }
  // What a call packs itself is in L2 when it multiplies.
  query = query_of({.n = 8, .element = Dtype::f16}, weights, &hopper);
  query.policy = Policy::cold;
  CHECK_FALSE(ops::reads_strips_once(query, {.mode = PackedMode::f16x1}, 8));
  // Tiles side by side and the products of a batch read the same strips.
  query = query_of(problem, weights, &hopper);
  query.policy = Policy::cold;
  CHECK(ops::reads_strips_once(query, {.mode = PackedMode::f16x1}, 8));
  query.n = {64, 64};
  CHECK_FALSE(ops::reads_strips_once(query, {.mode = PackedMode::f16x1}, 32));
  query.n = {8, 8};
  query.problem.batch = 2;
  CHECK_FALSE(ops::reads_strips_once(query, {.mode = PackedMode::f16x1}, 8));
  query.problem.values_per_batch = true;
  CHECK(ops::reads_strips_once(query, {.mode = PackedMode::f16x1}, 8));
}

TEST_CASE("unpack_mma packs, prepares, multiplies and sums") {
  for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call})
    for (const bool prepare : {false, true})
      for (const int k_split : {1, 2}) {
        const Spmm problem{.n = 128, .value_lifetime = lifetime};
        const ops::SpmmQuery query = query_of(problem, layer);
        UnpackMmaConfig config = ops::unpack_mma::default_config(query);
        config.prepare_dense = prepare;
        config.k_split = k_split;
        std::vector<std::string> wanted = {"unpack_mma"};
        if (prepare) wanted.insert(wanted.begin(), "split_dense");
        if (lifetime == ValueLifetime::per_call) wanted.insert(wanted.begin(), "pack_strips");
        if (k_split > 1) wanted.emplace_back("unpack_sum");
        std::vector<std::string> names;
        for (const ops::Launch& launch : family().launches(query, ops::Config::of(config), {}))
          names.push_back(launch.request().family);
        CHECK(names == wanted);
      }
}

TEST_CASE(
    "unpack_mma's grid has a block for each tile and slice of each product, and its workspace the sums of all slices") {
  const Spmm problem{.n = 100, .batch = 3, .value_lifetime = ValueLifetime::persistent};
  const ops::SpmmQuery query = query_of(problem, statistics_of(300, 600, 0.1));
  const UnpackMmaConfig config{
      .mode = PackedMode::f16x3, .row_warps = 2, .warp_columns = 32, .k_split = 2, .prepare_dense = true};
  const std::vector<ops::Launch> launches = family().launches(query, ops::Config::of(config), {});
  REQUIRE(launches.size() == 3);
  const device::LaunchShape shape = shape_of(launches[1], problem);
  CHECK(shape.block.x == 64);
  CHECK(shape.grid.x == 5 * 4);
  CHECK(shape.grid.y == 2 * 3);
  const std::int64_t partial = std::int64_t{3} * 2 * 5 * 64 * 4 * 32 * 4;
  const std::int64_t tiles = std::int64_t{3} * 2 * 10 * 16384;
  const std::int64_t scales = std::int64_t{3} * 10 * 128 * 4;
  CHECK(family().workspace_bytes(query, ops::Config::of(config)) == tiles + scales + partial);
}

TEST_CASE(
    "unpack_mma: strips that a stage has no room for, and weights that columns read twice, are predicted to cost what "
    "was measured") {
  Spmm problem{.n = 8, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
  problem.dense_layout = problem.output_layout = Layout::column_major;
  const TopologyStatistics half = statistics_of(8192, 8192, 0.5);
  UnpackMmaConfig config{
      .mode = PackedMode::f16x1, .row_warps = 1, .column_warps = 1, .warp_strips = 4, .warp_columns = 8};
  config.k_warps = 8;
  config.stages = 3;
  config.min_blocks = config.k_split = 1;
  config.bulk_strips = config.stream_strips = true;
  const auto predicted = [&](std::int64_t n, int strip_pairs) {
    problem.n = n;
    config.strip_pairs = strip_pairs;
    return ops::unpack_mma::predict_us(query_of(problem, half), config);
  };
  // Measured on an H200: 27.4 and 47.9 us; of 16 columns, 27.9 with tiles of 16 and 46.4 with these.
  MESSAGE(predicted(8, 448), " ", predicted(8, 224), " ", predicted(16, 448));
  CHECK(predicted(8, 224) > 1.5 * predicted(8, 448));
  CHECK(predicted(8, 224) < 2 * predicted(8, 448));
  CHECK(predicted(16, 448) > 1.5 * predicted(8, 448));
  CHECK(predicted(16, 448) < 2 * predicted(8, 448));
}
