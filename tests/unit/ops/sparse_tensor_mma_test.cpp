
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include <abi/sparse_tensor_mma.h>
#include "ops/families.hpp"
#include "ops/spmm/sparse_tensor.hpp"

#include "contains.hpp"
#include "ops/topology/packed_format.hpp"
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
  static const auto made = ops::make_sparse_tensor_mma();
  return *made;
}

/// The reason against the default config with one change.
std::string forbidden(const ops::SpmmQuery& query, const std::function<void(SparseTensorMmaConfig&)>& change) {
  auto config = family().default_config(query).as<SparseTensorMmaConfig>();
  change(config);
  return family().forbidden(query, ops::Config::of(config)).value_or("");
}

Spmm random_problem(sparse::Random& random) {
  Spmm problem{.n = 1 + random.below(std::int64_t{1} << random.below(14))};
  problem.element = random.below(2) == 0 ? Dtype::f16 : Dtype::bf16;
  problem.output = static_cast<Dtype>(random.below(3));
  problem.dense_layout = static_cast<Layout>(random.below(2));
  problem.output_layout = static_cast<Layout>(random.below(2));
  problem.batch = 1 + random.below(3);
  problem.alignment_bytes = 4 << random.below(3);
  problem.value_lifetime = static_cast<ValueLifetime>(random.below(2));
  return problem;
}

}  // namespace

TEST_CASE(
    "sparse_tensor_mma serves the emulator and GPUs from sm_80 on, 16-bit elements, and nothing that tensor cores may "
    "not do") {
  for (const char* served : {"emulator", "sm_80", "sm_86", "sm_90", "sm_120"}) CHECK(family().runs_on(served));
  CHECK_FALSE(family().runs_on("sm_75"));
  const auto declined = [](const Spmm& problem, const TopologyStatistics& statistics) {
    return family().declines(query_of(problem, statistics)).value_or("");
  };
  CHECK(declined(large, layer).empty());
  CHECK(contains(declined({.n = 128}, layer), "32 bits"));
  CHECK(contains(declined({.n = 128, .element = Dtype::f16, .math = Math::strict}, layer), "strict"));
  CHECK(declined({.n = 128, .element = Dtype::bf16, .nonfinite = NonFinite::sparse}, layer).empty());
  CHECK(contains(declined(large, {.rows = 8, .cols = 8}), "no nonzeros"));
  TopologyStatistics repeated = layer;
  repeated.duplicates = true;
  CHECK(contains(declined(large, repeated), "twice"));
  CHECK(contains(declined(large, {.rows = 1 << 20, .cols = 1 << 20, .nonzeros = 1000, .longest_row = 5}), "empty"));
}

TEST_CASE(
    "sparse_tensor_mma's default config is admitted for every problem, and lists begin with it and repeat nothing") {
  constexpr std::uint64_t seed = 14;
  INFO("seed " << seed);
  sparse::Random random(seed);
  test::FakeDevice device;
  for (int i = 0; i < 100; ++i) {
    const Spmm problem = random_problem(random);
    const TopologyStatistics statistics =
        statistics_of(1 + random.below(9000), 1 + random.below(9000), 0.01 * static_cast<double>(1 + random.below(99)));
    const ops::SpmmQuery query = query_of(problem, statistics, i % 2 == 0 ? nullptr : &device);
    INFO(ops::exact_key(problem), ", n = ", problem.n, ", ", statistics.rows, " x ", statistics.cols);
    check_short_list(family(), query, 12);
    if (i % 20 == 0) check_space(family(), query, 1000);
  }
}

TEST_CASE("sparse_tensor_mma's rules name what they forbid") {
  const ops::SpmmQuery query = query_of(large, layer);
  CHECK(contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.row_warps = 3; }), "power of two"));
  CHECK(contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.warp_strips = 16; }), "strips"));
  CHECK(contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.warp_columns = 48; }), "warp_columns"));
  CHECK(contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.stages = 9; }), "stages"));
  CHECK(contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.strip_passes = 5; }), "strip_passes"));
  CHECK(contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.k_split = 0; }), "k_split"));
  CHECK(contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.k_split = 129; }), "slices"));
  CHECK(
      contains(forbidden(query, [](SparseTensorMmaConfig& c) { c.stages = 8, c.strip_passes = 4; }), "shared memory"));
  CHECK(contains(forbidden(query,
                           [](SparseTensorMmaConfig& c) {
                             c = {.row_warps = 1, .column_warps = 1, .warp_columns = 128, .stages = 2};
                           }),
                 "registers"));
  CHECK(contains(forbidden(query_of({.n = 9, .element = Dtype::f16}, layer),
                           [](SparseTensorMmaConfig& c) { c.warp_columns = 32; }),
                 "columns"));
  const ops::SpmmQuery few_rows = query_of({.n = 128, .element = Dtype::f16}, statistics_of(20, 2048, 0.1));
  CHECK(contains(forbidden(few_rows,
                           [](SparseTensorMmaConfig& c) {
                             c = {.row_warps = 2, .column_warps = 1, .warp_strips = 2, .warp_columns = 32, .stages = 2};
                           }),
                 "row"));
}

TEST_CASE("sparse_tensor_mma packs, multiplies and sums") {
  for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call})
    for (const int k_split : {1, 2}) {
      const Spmm problem{.n = 128, .element = Dtype::f16, .value_lifetime = lifetime};
      const ops::SpmmQuery query = query_of(problem, layer);
      auto config = family().default_config(query).as<SparseTensorMmaConfig>();
      config.k_split = k_split;
      std::vector<std::string> wanted = {"sparse_tensor_mma"};
      if (lifetime == ValueLifetime::per_call) wanted.insert(wanted.begin(), "pack_sparse");
      if (k_split > 1) wanted.emplace_back("unpack_sum");
      std::vector<std::string> names;
      for (const ops::Launch& launch : family().launches(query, ops::Config::of(config), {}))
        names.push_back(launch.request().family);
      CHECK(names == wanted);
    }
}

TEST_CASE(
    "sparse_tensor_mma's grid has a block for each tile and slice of each product, and its workspace room for any "
    "strips and all sums") {
  Spmm problem{.n = 100, .batch = 3, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
  const TopologyStatistics statistics = statistics_of(300, 600, 0.1);
  const SparseTensorMmaConfig config{
      .row_warps = 2, .column_warps = 1, .warp_strips = 2, .warp_columns = 32, .k_split = 2};
  const ops::SpmmQuery query = query_of(problem, statistics);
  const std::vector<ops::Launch> launches = family().launches(query, ops::Config::of(config), {});
  REQUIRE(launches.size() == 2);
  const device::LaunchShape shape = shape_of(launches[0], problem);
  CHECK(shape.block.x == 64);
  CHECK(shape.grid.x == 5 * 4);
  CHECK(shape.grid.y == 2 * 3);
  const std::int64_t partial = std::int64_t{3} * 2 * 5 * 64 * 4 * 32 * 4;
  CHECK(family().workspace_bytes(query, ops::Config::of(config)) == partial);
  problem.value_lifetime = ValueLifetime::per_call;
  CHECK(family().workspace_bytes(query_of(problem, statistics), ops::Config::of(config)) ==
        ops::sparse_set_bytes_bound(statistics) + partial);
}

TEST_CASE("sparse strips are among the packed formats, one for each type of 16 bits") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) {
    const std::string name = ops::sparse_format(element);
    const ops::PackedFormat* const format = ops::find_packed_format(name);
    REQUIRE(format != nullptr);
    CHECK(format->name() == name);
    CHECK(format->needs().sparse_strips);
    CHECK(format->needs().packed());
    CHECK(ops::sparse_format_element(name) == element);
    const Spmm problem{.n = 256, .element = element};
    CHECK(family().packed_format(query_of(problem, layer), family().default_config(query_of(problem, layer))) == name);
  }
  CHECK(ops::sparse_format(Dtype::f16) == "strip16x64/2:4/f16");
  CHECK_FALSE(ops::sparse_format_element("strip16x64/2:4/f32"));
}

TEST_CASE(
    "passes that are expected of a mask grow from one to two with its density, and with the rows multiplied together") {
  const auto passes = [](double density, int rows) {
    return ops::sparse_tensor::expected_passes(query_of(large, statistics_of(8192, 8192, density)), rows);
  };
  CHECK(passes(0.0001, 16) < 0.1);
  CHECK(passes(0.02, 64) == doctest::Approx(1.016).epsilon(0.01));
  CHECK(passes(0.05, 64) == doctest::Approx(1.22).epsilon(0.02));
  CHECK(passes(0.1, 64) == doctest::Approx(1.85).epsilon(0.02));
  CHECK(passes(0.1, 16) == doctest::Approx(1.38).epsilon(0.02));
  CHECK(passes(0.9, 16) == doctest::Approx(2).epsilon(0.001));
}
