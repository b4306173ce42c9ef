#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "contains.hpp"
#include "ops/families.hpp"
#include "ops/sddmm/wgmma_sample.hpp"
#include "sparse/generate.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/ops/config_lists.hpp"

using namespace vostok;

namespace {

using test::admitted;
using test::check_short_list;
using test::check_space;
using test::contains;

const TopologyStatistics layer{.rows = 2048, .cols = 512, .nonzeros = 1 << 19, .longest_row = 300, .mean_row = 256};
const TopologyStatistics attention{
    .rows = 12288, .cols = 12288, .nonzeros = 15'000'000, .longest_row = 1400, .mean_row = 1220};

const ops::Family& family() {
  static const auto made = ops::make_wgmma_sample();
  return *made;
}

std::shared_ptr<const ops::SddmmQuery> query_of(const Sddmm& problem, const TopologyStatistics& statistics = layer,
                                                const device::Device* device = nullptr) {
  ops::validate(problem, statistics);
  return ops::make_query(problem, statistics, {problem.n, problem.n}, device);
}

std::string declined(const Sddmm& problem, const TopologyStatistics& statistics = layer) {
  return family().declines(*query_of(problem, statistics)).value_or("");
}

/// Admitted for n = 256 of the layer.
constexpr WgmmaSampleConfig usual{.warpgroups = 2, .tile_columns = 64, .stages = 2};

std::string reason_of(const Sddmm& problem, const std::function<void(WgmmaSampleConfig&)>& change,
                      const TopologyStatistics& statistics = layer) {
  WgmmaSampleConfig config = usual;
  change(config);
  return ops::wgmma_sample::forbidden(*query_of(problem, statistics), config).value_or("");
}

}  // namespace

TEST_CASE("wgmma_sample serves GPUs of sm_90 alone, and nothing that tensor cores may not do") {
  test::FakeDevice hopper;
  CHECK_FALSE(family().declines(*query_of({.n = 64}, layer, &hopper)));
  CHECK(family().runs_on("sm_90"));
  for (const char* other : {"sm_80", "sm_89", "sm_100", "sm_120", "emulator"}) CHECK_FALSE(family().runs_on(other));
  CHECK(declined({.n = 64}).empty());
  CHECK(contains(declined({.n = 64, .math = Math::strict}), "strict"));
  CHECK(declined({.n = 64, .nonfinite = NonFinite::sparse}).empty());
  CHECK(contains(declined({.n = (1 << 20) + 1}), "1048576"));
  CHECK(declined({.n = (1 << 20) + 1, .math = Math::tf32}).empty());
  TopologyStatistics unsorted = layer;
  unsorted.sorted = false;
  CHECK(contains(declined({.n = 64}, unsorted), "sorted"));
}

TEST_CASE("wgmma_sample's default config is admitted wherever the family does not decline") {
  constexpr std::uint64_t seed = 7;
  INFO("seed " << seed);
  sparse::Random random(seed);
  int served = 0;
  for (int i = 0; i < 300; ++i) {
    Sddmm problem{.n = 1 + random.below(std::int64_t{1} << random.below(16)),
                  .batch = 1 + random.below(3),
                  .element = static_cast<Dtype>(random.below(3))};
    if (random.below(3) == 0) problem.math = Math::tf32;
    TopologyStatistics statistics{.rows = 1 + random.below(std::int64_t{1} << random.below(15)),
                                  .cols = 1 + random.below(std::int64_t{1} << random.below(15))};
    statistics.longest_row = random.below(statistics.cols + 1);
    statistics.nonzeros = statistics.rows * statistics.longest_row / 2;
    statistics.mean_row = static_cast<double>(statistics.longest_row) / 2;
    const auto query = query_of(problem, statistics);
    if (family().declines(*query)) continue;
    ++served;
    const ops::Config config = family().default_config(*query);
    const auto reason = family().forbidden(*query, config);
    INFO(to_text(config.to_map()), ", n = ", problem.n, ", ", query->exact);
    CHECK_MESSAGE(!reason, reason.value_or(""));
    CHECK(std::isfinite(family().predict_us(*query, config)));
  }
  CHECK(served > 200);
}

TEST_CASE(
    "wgmma_sample's space starts with the default and repeats nothing, and its admitted part and short list are of the "
    "promised size") {
  for (const TopologyStatistics& statistics : {layer, attention})
    for (const Dtype element : {Dtype::f32, Dtype::f16})
      for (const std::int64_t n : {64, 256, 2048}) {
        const auto query = query_of({.n = n, .element = element}, statistics);
        INFO("n = ", n, ", ", name(element));
        check_space(family(), *query, 1000);
        CHECK(admitted(family(), *query, family().space(*query)) >= 20);
        check_short_list(family(), *query, 16);
        CHECK(family().short_list(*query).size() >= 6);
      }
}

TEST_CASE("each rule of wgmma_sample refuses a config that breaks it, with its reason") {
  struct Breach {
    const char* reason;
    std::function<void(WgmmaSampleConfig&)> change;
  };
  const std::vector<Breach> breaches = {
      {"warpgroups is", [](WgmmaSampleConfig& c) { c.warpgroups = 4; }},
      {"tile_columns is", [](WgmmaSampleConfig& c) { c.tile_columns = 96; }},
      {"mode is", [](WgmmaSampleConfig& c) { c.mode = PackedMode::f16x1; }},
      {"mode is", [](WgmmaSampleConfig& c) { c.mode = PackedMode::bf16x3; }},
      {"stages is", [](WgmmaSampleConfig& c) { c.stages = 1; }},
      {"take turns", [](WgmmaSampleConfig& c) { c.warpgroups = 1; }},
      {"waves is", [](WgmmaSampleConfig& c) { c.waves = -1; }},
      {"list_room is", [](WgmmaSampleConfig& c) { c.list_room = 4; }},
      {"list_room is", [](WgmmaSampleConfig& c) { c.list_room = 16384; }},
      {"n_split is", [](WgmmaSampleConfig& c) { c.n_split = 3; }},
      {"min_blocks is", [](WgmmaSampleConfig& c) { c.min_blocks = 0; }},
      {"fewer blocks", [](WgmmaSampleConfig& c) { c.n_split = 8; }},
      {"more threads", [](WgmmaSampleConfig& c) { c.min_blocks = 6; }},
      {"registers that min_blocks", [](WgmmaSampleConfig& c) { c.tile_columns = 256; }},
      {"shared memory", [](WgmmaSampleConfig& c) { c.stages = 8; }},
  };
  CHECK(reason_of({.n = 256}, [](WgmmaSampleConfig&) {}).empty());
  for (const Breach& breach : breaches) {
    const std::string reason = reason_of({.n = 256}, breach.change);
    INFO(breach.reason, " / ", reason);
    CHECK(contains(reason, breach.reason));
  }
  CHECK(contains(reason_of({.n = 8192}, [](WgmmaSampleConfig&) {}), "round past"));
  CHECK(reason_of({.n = 8192}, [](WgmmaSampleConfig& c) { c.n_split = 2; }).empty());
  CHECK(reason_of({.n = 8192, .math = Math::tf32}, [](WgmmaSampleConfig&) {}).empty());
  const TopologyStatistics low{.rows = 64, .cols = 512, .nonzeros = 3000, .longest_row = 50, .mean_row = 47};
  CHECK(contains(reason_of({.n = 256}, [](WgmmaSampleConfig&) {}, low), "tile's rows"));
  const TopologyStatistics narrow{.rows = 2048, .cols = 32, .nonzeros = 3000, .longest_row = 2, .mean_row = 1.5};
  CHECK(contains(reason_of({.n = 256}, [](WgmmaSampleConfig&) {}, narrow), "tile's columns"));
  CHECK(contains(reason_of({.n = 256, .batch = std::int64_t{1} << 33}, [](WgmmaSampleConfig&) {}), "grid's y and z"));
}

TEST_CASE("wgmma_sample's blocks fill the device, and each goes through its share of the tiles") {
  test::FakeDevice hopper;
  const int places = hopper.info().multiprocessors > 0 ? hopper.info().multiprocessors : 132;
  WgmmaSampleConfig config;
  const auto shape_of = [&](const Sddmm& problem, unsigned tiles) {
    const auto query = query_of(problem, attention, &hopper);
    ops::TopologyPointers topology;
    topology.tile_lists.tile_count = tiles;
    const std::vector<ops::Launch> launches = family().launches(*query, ops::Config::of(config), topology);
    alignas(16) unsigned char arguments[ops::max_argument_bytes];
    const SddmmArguments call{};
    const device::LaunchShape shape = launches.at(1).bind(&call, arguments);
    CHECK(shape.grid.x * reinterpret_cast<const WgmmaSampleArgs*>(arguments)->tiles_per_block >= tiles);
    return shape.grid;
  };
  CHECK(shape_of({.n = 64}, 6144).x <= static_cast<unsigned>(places));
  CHECK(shape_of({.n = 64}, 6144).x > static_cast<unsigned>(places) * 9 / 10);
  CHECK(shape_of({.n = 64}, 5).x == 5);
  CHECK(shape_of({.n = 64, .batch = 1000}, 6144).x == 1);
  CHECK(shape_of({.n = 64, .batch = 1000}, 6144).y == 1000);
  config.waves = 0;
  CHECK(shape_of({.n = 64}, 6144).x == 6144);
}

TEST_CASE("tiles that follow one block of operands a multiprocessor have one each, and others what they need") {
  const TopologyStatistics small{.rows = 512, .cols = 512, .nonzeros = 78643, .longest_row = 200, .mean_row = 153};
  test::FakeDevice hopper;
  hopper.be_a_gpu();
  // Two of these fit a multiprocessor.
  const WgmmaSampleConfig config{.warpgroups = 1, .tile_columns = 64, .takes_turns = false, .waves = 0};
  const auto shared_bytes = [&](const TopologyStatistics& statistics, const WgmmaSampleConfig& c) {
    ops::TopologyPointers topology;
    topology.tile_lists.tile_count = 64;
    const auto launches = family().launches(*query_of({.n = 256}, statistics, &hopper), ops::Config::of(c), topology);
    REQUIRE(launches.size() >= 2);
    return launches[1].shared_bytes();
  };
  constexpr std::int64_t half = 233'472 / 2;
  CHECK(shared_bytes(small, config) > half);
  CHECK(shared_bytes(layer, config) < half);  // whose operands are of 320 blocks
  WgmmaSampleConfig other = config;
  other.waves = 1;
  other.stages = 2;  // sums lie behind them
  CHECK(shared_bytes(small, other) < half);
  other = config;
  other.n_split = 2;
  CHECK(shared_bytes(small, other) < half);
}

TEST_CASE("wgmma_sample's blocks split f32 operands that lie by rows: one launch, which needs no workspace") {
  const auto in_place = [](WgmmaSampleConfig& c) {
    c.mode = PackedMode::tf32x3;
    c.tensor_copies = true;
    c.takes_turns = false;
    c.stages = 4;
  };
  CHECK(reason_of({.n = 256}, in_place).empty());
  WgmmaSampleConfig config = usual;
  in_place(config);
  const auto query = query_of({.n = 256});
  CHECK(family().workspace_bytes(*query, ops::Config::of(config)) == 0);
  CHECK(family().launches(*query, ops::Config::of(config), {}).size() == 1);
  CHECK(contains(reason_of({.n = 124}, in_place), "n of 128"));
  CHECK(contains(reason_of({.n = 256, .math = Math::tf32}, in_place), "tf32x3 takes"));
  CHECK(contains(reason_of({.n = 250}, in_place), "tf32x3 takes"));  // lines at multiples of 8 bytes
  CHECK(contains(reason_of({.n = 256, .lhs_layout = Layout::column_major}, in_place), "tf32x3 multiplies rows"));
  CHECK(contains(reason_of({.n = 256, .element = Dtype::f16}, in_place), "own mode"));
  const auto but = [&](const std::function<void(WgmmaSampleConfig&)>& change) {
    return reason_of({.n = 256}, [&](WgmmaSampleConfig& c) { in_place(c), change(c); });
  };
  CHECK(contains(but([](WgmmaSampleConfig& c) { c.tensor_copies = false; }), "tensor_copies takes"));
  CHECK(contains(but([](WgmmaSampleConfig& c) { c.mode = PackedMode::f16x3; }), "tensor_copies takes"));
  CHECK(contains(but([](WgmmaSampleConfig& c) { c.takes_turns = true; }), "takes no turns"));
  CHECK(contains(but([](WgmmaSampleConfig& c) { c.promotion_blocks = 2; }), "one promotion"));
  CHECK(contains(but([](WgmmaSampleConfig& c) { c.warpgroups = 3; }), "registers that min_blocks"));
}

TEST_CASE("wgmma_sample takes f32 operands in place by default where n is small, and where it is large") {
  const TopologyStatistics small{.rows = 512, .cols = 512, .nonzeros = 78643, .longest_row = 200, .mean_row = 153};
  for (const std::int64_t n : {256, 50176}) {
    const auto config = family().default_config(*query_of({.n = n}, small)).as<WgmmaSampleConfig>();
    CHECK(config.mode == PackedMode::tf32x3);
  }
  const auto columns = query_of({.n = 256, .rhs_layout = Layout::column_major}, small);
  CHECK(family().default_config(*columns).as<WgmmaSampleConfig>().mode == PackedMode::f16x3);
}
