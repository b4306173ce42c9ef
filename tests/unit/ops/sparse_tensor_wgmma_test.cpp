#include <abi/sparse_tensor_wgmma.h>

#include "ops/families.hpp"
#include "ops/spmm/sparse_tensor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "codegen/fields.hpp"
#include "contains.hpp"
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
using test::shape_of;
using test::statistics_of;

const TopologyStatistics layer = statistics_of(8192, 8192, 0.03);
constexpr Spmm large = {.n = 4096, .element = Dtype::f16};

const ops::Family& family() {
  static const auto made = ops::make_sparse_tensor_wgmma();
  return *made;
}

SparseTensorWgmmaConfig default_config(const ops::SpmmQuery& query) {
  return family().default_config(query).as<SparseTensorWgmmaConfig>();
}

std::string reason_against(const ops::SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return family().forbidden(query, ops::Config::of(config)).value_or("");
}

/// The reason against the default config with one change.
std::string forbidden(const ops::SpmmQuery& query, const std::function<void(SparseTensorWgmmaConfig&)>& change) {
  SparseTensorWgmmaConfig config = default_config(query);
  change(config);
  return reason_against(query, config);
}

Spmm random_problem(sparse::Random& random) {
  Spmm problem{.n = 8 * (5 + random.below(std::int64_t{1} << random.below(10)))};
  problem.element = random.below(2) == 0 ? Dtype::f16 : Dtype::bf16;
  problem.output = static_cast<Dtype>(random.below(3));
  problem.dense_layout = static_cast<Layout>(random.below(2));
  problem.output_layout = static_cast<Layout>(random.below(2));
  problem.batch = 1 + random.below(3);
  problem.value_lifetime = static_cast<ValueLifetime>(random.below(2));
  return problem;
}

}  // namespace

TEST_CASE(
    "sparse_tensor_wgmma serves GPUs of sm_90, 16-bit elements, B whose lines are aligned to 16 bytes, and n above "
    "32") {
  CHECK(family().runs_on("sm_90"));
  for (const char* other : {"emulator", "sm_80", "sm_89", "sm_100", "sm_120"}) CHECK_FALSE(family().runs_on(other));
  const auto declined = [](const Spmm& problem, const TopologyStatistics& statistics) {
    return family().declines(query_of(problem, statistics)).value_or("");
  };
  CHECK(declined(large, layer).empty());
  CHECK(contains(declined({.n = 128}, layer), "32 bits"));
  CHECK(contains(declined({.n = 32, .element = Dtype::f16}, layer), "32 or less"));
  CHECK(contains(declined({.n = 100, .element = Dtype::f16}, layer), "16 bytes"));
  CHECK(declined({.n = 100, .element = Dtype::f16, .dense_layout = Layout::column_major}, layer).empty());
  CHECK(contains(declined({.n = 128, .element = Dtype::f16, .alignment_bytes = 8}, layer), "16 bytes"));
  CHECK(contains(declined({.n = 128, .element = Dtype::f16, .math = Math::strict}, layer), "strict"));
  CHECK(contains(declined(large, {.rows = 8, .cols = 8}), "no nonzeros"));
}

TEST_CASE(
    "sparse_tensor_wgmma's default config is admitted for every aligned problem, and lists begin with it and repeat "
    "nothing") {
  constexpr std::uint64_t seed = 15;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 60; ++i) {
    const Spmm problem = random_problem(random);
    const TopologyStatistics statistics = statistics_of(1 + random.below(9000), 8 * (1 + random.below(1000)),
                                                        0.01 * static_cast<double>(1 + random.below(99)));
    const ops::SpmmQuery query = query_of(problem, statistics);
    INFO(ops::exact_key(problem), ", n = ", problem.n, ", ", statistics.rows, " x ", statistics.cols);
    check_short_list(family(), query, 12);
    if (i % 20 == 0) check_space(family(), query, 1000);
  }
}

TEST_CASE("sparse_tensor_wgmma's rules name what they forbid") {
  const ops::SpmmQuery query = query_of(large, layer);
  CHECK(contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.warpgroups = 3; }), "warpgroups"));
  CHECK(contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.tile_columns = 32; }), "tile_columns"));
  CHECK(contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.stages = 9; }), "stages"));
  CHECK(contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.strip_passes = 0; }), "strip_passes"));
  CHECK(contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.producer_warps = 1, c.tensor_copies = false; }),
                 "four warps"));
  CHECK(contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.k_split = 0; }), "k_split"));
  CHECK(
      contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.k_split = 129, c.persistent = false; }), "slices"));
  CHECK(contains(forbidden(query, [](SparseTensorWgmmaConfig& c) { c.stages = 8, c.strip_passes = 4; }),
                 "shared memory"));
  CHECK(contains(
      forbidden(query, [](SparseTensorWgmmaConfig& c) { c.warpgroups = 4, c.tile_columns = 128, c.min_blocks = 1; }),
      "registers"));
  CHECK(contains(forbidden(query_of({.n = 40, .element = Dtype::f16}, layer),
                           [](SparseTensorWgmmaConfig& c) { c.tile_columns = 128, c.stages = 2; }),
                 "columns"));
  CHECK(contains(forbidden(query_of(large, statistics_of(60, 8192, 0.03)),
                           [](SparseTensorWgmmaConfig& c) {
                             c.warpgroups = 2, c.tile_columns = 64, c.stages = 2, c.producer_warps = 4,
                             c.min_blocks = 1;
                           }),
                 "rows"));
}

TEST_CASE(
    "sparse_tensor_wgmma's tensor_copies are for a device that makes maps, and take one warp where nobody exchanges "
    "registers") {
  test::FakeDevice device;
  const auto reason = [&](const std::function<void(SparseTensorWgmmaConfig&)>& change) {
    SparseTensorWgmmaConfig config{
        .warpgroups = 1, .tile_columns = 128, .stages = 2, .producer_warps = 1, .tensor_copies = true};
    change(config);
    return reason_against(query_of(large, layer, &device), config);
  };
  CHECK(reason([](SparseTensorWgmmaConfig&) {}).empty());
  CHECK(reason([](SparseTensorWgmmaConfig& c) { c.producer_warps = 4; }).empty());
  CHECK(contains(reason([](SparseTensorWgmmaConfig& c) { c.warpgroups = 2; }), "four warps"));
  CHECK(contains(reason([](SparseTensorWgmmaConfig& c) { c.tensor_copies = false; }), "four warps"));
  device.tensor_maps = false;
  CHECK(contains(reason([](SparseTensorWgmmaConfig&) {}), "CUDA 12.0"));
  CHECK(contains(
      reason_against(query_of({.n = 128, .element = Dtype::f16, .dense_leading = std::int64_t{1} << 39}, layer),
                     {.tile_columns = 128, .stages = 2, .tensor_copies = true}),
      "larger than a tensor map"));
}

TEST_CASE(
    "sparse_tensor_wgmma's space copies B by maps and by threads, by maps first, and by threads alone without them") {
  test::FakeDevice device;
  const auto ways = [&](const std::vector<ops::Config>& list, const ops::SpmmQuery& query) {
    std::set<bool> found;
    for (const ops::Config& c : list)
      if (!family().forbidden(query, c)) found.insert(c.as<SparseTensorWgmmaConfig>().tensor_copies);
    return found;
  };
  const ops::SpmmQuery query = query_of(large, layer, &device);
  CHECK(default_config(query).tensor_copies);
  CHECK(ways(family().space(query), query) == std::set<bool>{false, true});
  CHECK(ways(family().short_list(query), query) == std::set<bool>{true});
  std::set<std::pair<int, int>> tiles;  // ways of B leave room for several
  const ops::SpmmQuery smaller = query_of({.n = 512, .element = Dtype::f16}, statistics_of(8192, 2048, 0.1), &device);
  for (const ops::Config& listed : family().short_list(smaller)) {
    const auto c = listed.as<SparseTensorWgmmaConfig>();
    tiles.insert({c.warpgroups, c.tile_columns});
  }
  CHECK(tiles.size() >= 3);
  device.tensor_maps = false;
  CHECK(ways(family().space(query), query) == std::set<bool>{false});
  CHECK_FALSE(default_config(query).tensor_copies);
}

TEST_CASE("sparse_tensor_wgmma packs, multiplies and sums, for sm_90a") {
  for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call})
    for (const int k_split : {1, 2}) {
      const Spmm problem{.n = 128, .element = Dtype::f16, .value_lifetime = lifetime};
      const ops::SpmmQuery query = query_of(problem, layer);
      SparseTensorWgmmaConfig config = default_config(query);
      config.k_split = k_split;
      config.cluster_sums = false;
      std::vector<std::string> wanted = {"sparse_tensor_wgmma"};
      if (lifetime == ValueLifetime::per_call) wanted.insert(wanted.begin(), "pack_sparse");
      if (k_split > 1) wanted.emplace_back("unpack_sum");
      std::vector<std::string> names;
      for (const ops::Launch& launch : family().launches(query, ops::Config::of(config), {})) {
        names.push_back(launch.request().family);
        CHECK(launch.request().features == (names.back() == "sparse_tensor_wgmma" ? "a" : ""));
      }
      CHECK(names == wanted);
    }
}

TEST_CASE(
    "sparse_tensor_wgmma's slices of one cluster need no second launch and no memory between, and the kernel has the "
    "epilogue") {
  const Spmm problem{.n = 256,
                     .element = Dtype::f16,
                     .value_lifetime = ValueLifetime::persistent,
                     .epilogue = {.bias = Bias::per_row}};
  const ops::SpmmQuery query = query_of(problem, layer);
  SparseTensorWgmmaConfig config = default_config(query);
  config.k_split = 2;
  for (const bool cluster : {false, true}) {
    CAPTURE(cluster);
    config.cluster_sums = cluster;
    const std::vector<ops::Launch> launches = family().launches(query, ops::Config::of(config), {});
    REQUIRE(launches.size() == (cluster ? 1 : 2));
    CHECK(shape_of(launches.front(), problem).cluster == (cluster ? 2 : 1));
    const bool adds_bias = contains(launches.front().request().expression, "Bias::per_row");
    CHECK(adds_bias == cluster);
    CHECK((family().workspace_bytes(query, ops::Config::of(config)) == 0) == cluster);
  }
  config.k_split = 9;
  CHECK(contains(reason_against(query, config), "2 to 8 slices"));
}

TEST_CASE(
    "the tile that was fastest for large products is sparse_tensor_wgmma's default there: 128 rows by 256 columns") {
  const SparseTensorWgmmaConfig config = default_config(query_of(large, layer));
  CHECK(config.warpgroups == 2);
  CHECK(config.tile_columns == 256);
  CHECK(config.k_split == 1);
  CHECK(config.stages >= 4);
  CHECK(gained_registers(config) == 224);
}
