#include "ops/spmm/unpack_wgmma.hpp"
#include "ops/families.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
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
using test::contains;
using test::query_of;
using test::random_tensor_problem;
using test::shape_of;
using test::statistics_of;

const TopologyStatistics layer = statistics_of(8192, 2048, 0.1);
const ops::Family& family() {
  static const auto made = ops::make_unpack_wgmma();
  return *made;
}

std::optional<std::string> forbidden(const ops::SpmmQuery& query,
                                     const std::function<void(UnpackWgmmaConfig&)>& change) {
  // Two groups that take an f32 B of 128 columns: legal as it is.
  UnpackWgmmaConfig config{.warpgroups = 1, .k_groups = 2, .tile_columns = 128, .stages = 4, .producer_warps = 4};
  change(config);
  return ops::unpack_wgmma::forbidden(query, config);
}

}  // namespace

TEST_CASE("unpack_wgmma serves GPUs of sm_90 alone, and nothing that tensor cores may not do") {
  test::FakeDevice hopper;
  CHECK_FALSE(family().declines(query_of({.n = 128}, layer, &hopper)));
  CHECK_FALSE(family().declines(query_of({.n = 128}, layer)));
  CHECK(family().runs_on("sm_90"));
  for (const char* other : {"sm_80", "sm_89", "sm_100", "sm_120", "emulator"}) CHECK_FALSE(family().runs_on(other));
  const auto declined = [&](const Spmm& problem, const TopologyStatistics& statistics) {
    return family().declines(query_of(problem, statistics));
  };
  CHECK(contains(*declined({.n = 128, .math = Math::strict}, layer), "strict"));
  CHECK_FALSE(declined({.n = 128, .nonfinite = NonFinite::sparse}, layer));
  CHECK(declined({.n = 128}, {.rows = 8, .cols = 8}));
  CHECK(contains(*declined({.n = 128}, statistics_of(64, 70000, 0.1)), "65536"));
  CHECK_FALSE(declined({.n = 128, .math = Math::tf32}, statistics_of(64, 70000, 0.1)));
  TopologyStatistics repeated = layer;
  repeated.duplicates = true;
  CHECK(contains(*declined({.n = 128}, repeated), "twice"));
}

TEST_CASE("unpack_wgmma's default config is admitted for every problem, and its short list begins with it") {
  constexpr std::uint64_t seed = 12;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 200; ++i) {
    const Spmm problem = random_tensor_problem(random);
    const ops::SpmmQuery query = query_of(problem, statistics_of(1 + random.below(9000), 1 + random.below(9000),
                                                                 0.01 * static_cast<double>(1 + random.below(99))));
    INFO(ops::exact_key(problem), ", n = ", problem.n, ", ", query.statistics.rows, " x ", query.statistics.cols);
    check_short_list(family(), query, 16);
  }
}

TEST_CASE("unpack_wgmma's space begins with the default and repeats nothing") {
  for (const Spmm& problem : {Spmm{.n = 256}, Spmm{.n = 40, .element = Dtype::f16}}) {
    const ops::SpmmQuery query = query_of(problem, layer);
    const std::vector<ops::Config> space = family().space(query);
    CHECK(space.front() == family().default_config(query));
    CHECK(std::set<ops::Config>(space.begin(), space.end()).size() == space.size());
    const auto admitted = std::count_if(space.begin(), space.end(),
                                        [&](const ops::Config& config) { return !family().forbidden(query, config); });
    CHECK(admitted > 200);
    CHECK(admitted < 13000);
  }
}

TEST_CASE("unpack_wgmma's short list tries several tiles, not variations of one") {
  for (const std::int64_t n : {128, 4096})
    for (const double density : {0.4, 0.1}) {
      const Spmm problem{.n = n, .value_lifetime = ValueLifetime::persistent};
      std::set<std::array<int, 3>> tiles;
      std::set<PackedGrain> grains;
      for (const UnpackWgmmaConfig& c :
           ops::unpack_wgmma::short_list(query_of(problem, statistics_of(8192, 8192, density)))) {
        tiles.insert({c.warpgroups, c.k_groups, c.tile_columns});
        grains.insert(c.grain);
      }
      CHECK(tiles.size() >= 5);
      CHECK(tiles.contains({2, 1, 128}));
      // Of fours, tiles that groups share are none of the best.
      if (density > 0.25) CHECK(tiles.contains({1, 2, 128}));
      CHECK(grains.size() == (density > 0.25 ? 2 : 3));
    }
  std::set<std::array<int, 3>> tiles;  // nor ways of B for one
  const Spmm half{.n = 512, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
  for (const UnpackWgmmaConfig& c : ops::unpack_wgmma::short_list(query_of(half, statistics_of(8192, 8192, 0.1))))
    tiles.insert({c.warpgroups, c.k_groups, c.tile_columns});
  CHECK(tiles.size() >= 4);
}

TEST_CASE("unpack_wgmma's defaults are the shapes that won on an H200") {
  const UnpackWgmmaConfig narrow =
      ops::unpack_wgmma::default_config(query_of({.n = 128, .value_lifetime = ValueLifetime::persistent}, layer));
  CHECK(narrow.warpgroups == 2);
  CHECK(narrow.k_groups == 1);
  CHECK(narrow.tile_columns == 128);
  CHECK(narrow.overlap);
  CHECK(narrow.k_split == 2);
  CHECK(narrow.cluster_sums);
  const Spmm small{.n = 32, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent};
  test::FakeDevice device;
  device.tensor_maps = false;  // among the ways that were measured
  const UnpackWgmmaConfig few =
      ops::unpack_wgmma::default_config(query_of(small, statistics_of(8192, 8192, 0.2), &device));
  CHECK(few.k_split >= 2);
  CHECK_FALSE(few.prepare_dense);
}

TEST_CASE("a stage of unpack_wgmma holds B, its scales and the strips, and a block's stages their barriers") {
  // f16x3, 128 rows x 64 columns: 16 KiB of B, 64 scales, 8 strips of a header and 512 pairs of two words, two
  // barriers.
  UnpackWgmmaConfig wide{.mode = PackedMode::f16x3, .warpgroups = 2, .tile_columns = 64, .stages = 3};
  CHECK(shared_bytes(UnpackWgmmaTraits{}, wide) == 3 * (16384 + 256 + 8 * (128 + 4096) + 16));
  // 32 columns of high parts lie beside their low parts.
  UnpackWgmmaConfig narrow = wide;
  narrow.tile_columns = 32;
  CHECK(shared_bytes(UnpackWgmmaTraits{}, narrow) == 3 * (8192 + 128 + 8 * (128 + 4096) + 16));
  // Fours: two words of a lane, 256 pairs, and for each warp a row of what is left over.
  UnpackWgmmaConfig fours = wide;
  fours.grain = PackedGrain::four;
  fours.strip_pairs = 256;
  CHECK(shared_bytes(UnpackWgmmaTraits{}, fours) == 3 * (16384 + 256 + 8 * (256 + 2048) + 16) + 8 * 64 * 4);
  // A B that the block splits lies as one that was prepared, or in lines of k.
  wide.prepare_dense = false;
  CHECK(shared_bytes(UnpackWgmmaTraits{}, wide) == 3 * (16384 + 256 + 8 * (128 + 4096) + 16));
  CHECK(shared_bytes(UnpackWgmmaTraits{.dense_layout = Layout::column_major}, wide) ==
        3 * (16384 + 256 + 8 * (128 + 4096) + 16));
  // f16x1 as it lies: 64 lines of at most 128 bytes for each 64 columns, or a line for each column.
  const UnpackWgmmaConfig direct{.mode = PackedMode::f16x1,
                                 .warpgroups = 1,
                                 .tile_columns = 16,
                                 .stages = 2,
                                 .strip_pairs = 100,
                                 .prepare_dense = false};
  const UnpackWgmmaTraits rows{.element = Dtype::f16};
  const UnpackWgmmaTraits columns{.element = Dtype::f16, .dense_layout = Layout::column_major};
  CHECK(shared_bytes(rows, direct) == 2 * (8192 + 4 * (128 + 400) + 16));
  CHECK(shared_bytes(columns, direct) == 2 * (2048 + 4 * (128 + 400) + 16));
}

TEST_CASE("unpack_wgmma's rules name what they forbid") {
  const ops::SpmmQuery query = query_of({.n = 128}, layer);
  CHECK_FALSE(forbidden(query, [](UnpackWgmmaConfig&) {}));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.warpgroups = 3; }), "warpgroups"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.k_groups = 3; }), "k_groups"));
  CHECK(
      contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.k_groups = 4, c.stages = 6; }), "multiple of k_groups"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.k_split = 32; }), "slice of k"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.tile_columns = 48; }), "tile_columns"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.mode = PackedMode::bf16x3; }), "mode"));
  const auto split = [](UnpackWgmmaConfig& c) {
    c.prepare_dense = false, c.k_groups = 1, c.tile_columns = 64, c.stages = 4;
  };
  CHECK_FALSE(forbidden(query, [&](UnpackWgmmaConfig& c) { split(c); }));
  CHECK_FALSE(forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.producer_warps = 8; }));
  CHECK(contains(*forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.producer_warps = 1; }), "4 or 8"));
  CHECK_FALSE(forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.tensor_copies = true; }));
  CHECK(contains(*forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.persistent = true; }), "copy engine"));
  CHECK(contains(*forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.promotion_blocks = 2; }), "prepare_dense"));
  CHECK(contains(*forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.tile_columns = 16; }), "32 columns"));
  CHECK(contains(*forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.tile_columns = 32, c.stages = 6; }),
                 "stages of their own"));
  CHECK(contains(*forbidden(query, [&](UnpackWgmmaConfig& c) { split(c), c.min_blocks = 3; }), "have the registers"));
  CHECK(
      contains(*forbidden(query_of({.n = 127}, layer), [&](UnpackWgmmaConfig& c) { split(c); }), "16 bytes of a copy"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.stages = 8; }), "shared memory"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.promotion_blocks = 4, c.k_groups = 1; }),
                 "promotion_blocks"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.promotion_blocks = 2; }), "one of k_groups"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.producer_warps = 1; }), "producer_warps"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.tile_columns = 256; }), "registers"));
  CHECK(contains(*forbidden(query, [](UnpackWgmmaConfig& c) { c.k_split = 33; }), "slices"));
  CHECK_FALSE(forbidden(query, [](UnpackWgmmaConfig& c) { c.k_split = 8, c.cluster_sums = true; }));
  for (const int slices : {1, 16})
    CHECK(contains(
        *forbidden(query, [=](UnpackWgmmaConfig& c) { c.k_split = slices, c.k_groups = 1, c.cluster_sums = true; }),
        "2 to 8 slices"));
  CHECK(contains(*forbidden(query_of({.n = 128, .batch = 20000}, layer),
                            [](UnpackWgmmaConfig& c) { c.k_split = 4, c.cluster_sums = true; }),
                 "clusters"));
  const ops::SpmmQuery odd = query_of({.n = 63, .element = Dtype::f16}, layer);
  CHECK(contains(*forbidden(odd, [](UnpackWgmmaConfig& c) { c.mode = PackedMode::f16x1, c.prepare_dense = false; }),
                 "16 bytes of a copy"));
}

TEST_CASE(
    "unpack_wgmma's tensor_copies of 16 bits take B from where it lies, or rows made of columns: whole boxes, and a "
    "device that makes maps") {
  test::FakeDevice device;
  const auto reason = [&](const Spmm& problem, const std::function<void(UnpackWgmmaConfig&)>& change) {
    UnpackWgmmaConfig config{.mode = PackedMode::f16x1,
                             .tile_columns = 64,
                             .strip_pairs = 256,
                             .promotion_blocks = 0,
                             .prepare_dense = false,
                             .producer_warps = 4,
                             .tensor_copies = true};
    change(config);
    return ops::unpack_wgmma::forbidden(query_of(problem, layer, &device), config).value_or("");
  };
  const Spmm half{.n = 128, .element = Dtype::f16};
  const Spmm columns{.n = 128, .element = Dtype::f16, .dense_layout = Layout::column_major};
  CHECK(reason(half, [](UnpackWgmmaConfig&) {}).empty());
  // Rows that a launch before made of columns are copied as if they lay so.
  const auto transposes = [](UnpackWgmmaConfig& c) { c.prepare_dense = true; };
  CHECK(contains(reason(half, transposes), "it is column-major"));
  CHECK(reason(columns, transposes).empty());
  CHECK(contains(reason(half, [](UnpackWgmmaConfig& c) { c.tile_columns = 32; }), "64 columns"));
  CHECK(contains(reason({.n = 100, .element = Dtype::f16}, [](UnpackWgmmaConfig&) {}), "16 bytes of a copy"));
  CHECK(contains(
      reason({.n = 128, .element = Dtype::f16, .dense_leading = std::int64_t{1} << 39}, [](UnpackWgmmaConfig&) {}),
      "larger than a tensor map"));
  // Narrow tiles are whole where n is, or where lines run along k.
  CHECK(reason({.n = 32, .element = Dtype::f16}, [](UnpackWgmmaConfig& c) { c.tile_columns = 32; }).empty());
  CHECK(reason(columns, [](UnpackWgmmaConfig& c) { c.tile_columns = 32; }).empty());
  CHECK(contains(reason(columns, [](UnpackWgmmaConfig& c) { c.tile_columns = 32, c.prepare_dense = true; }),
                 "64 columns"));
  // One warp is enough where nobody exchanges registers.
  CHECK(reason(half, [](UnpackWgmmaConfig& c) { c.warpgroups = 1, c.producer_warps = 1; }).empty());
  CHECK(contains(reason(half, [](UnpackWgmmaConfig& c) { c.producer_warps = 1; }), "producer_warps"));
  device.tensor_maps = false;
  CHECK(contains(reason(half, [](UnpackWgmmaConfig&) {}), "CUDA 12.0"));
}

TEST_CASE("unpack_wgmma's space has every way of B that is possible, and its default copies by a map where it can") {
  using Ways = std::set<std::pair<bool, bool>>;
  test::FakeDevice device;
  const auto ways = [&](const Spmm& problem) {
    Ways found;
    const ops::SpmmQuery query = query_of(problem, layer, &device);
    for (const UnpackWgmmaConfig& c : ops::unpack_wgmma::space(query))
      if (!ops::unpack_wgmma::forbidden(query, c)) found.insert({c.prepare_dense, c.tensor_copies});
    return found;
  };
  const Spmm half{.n = 512, .element = Dtype::f16};
  CHECK(ways(half) == Ways{{false, true}, {false, false}, {true, false}});
  CHECK(ways({.n = 512, .element = Dtype::f16, .dense_layout = Layout::column_major}) ==
        Ways{{false, true}, {false, false}, {true, false}, {true, true}});
  CHECK(ways({.n = 512}) == Ways{{true, false}, {false, false}, {false, true}});
  CHECK(ways({.n = 510}) == Ways{{true, false}});
  CHECK(ways({.n = 100, .element = Dtype::f16}) == Ways{{true, false}});
  CHECK(ops::unpack_wgmma::default_config(query_of(half, layer, &device)).tensor_copies);
  // The short list has all ways of the best tile, of pairs: fours of 16 bits are not prepared.
  Ways listed;
  const std::vector<UnpackWgmmaConfig> list =
      ops::unpack_wgmma::short_list(query_of(half, statistics_of(8192, 2048, 0.2), &device));
  for (const UnpackWgmmaConfig& c : list)
    if (c.tile_columns == list.front().tile_columns && c.warpgroups == list.front().warpgroups)
      listed.insert({c.prepare_dense, c.tensor_copies});
  CHECK(listed.size() == 3);
  device.tensor_maps = false;
  CHECK(ways(half) == Ways{{false, false}, {true, false}});
}

TEST_CASE("unpack_wgmma streams strips that nobody finds in L2 again") {
  const test::FakeDevice hopper;
  ops::SpmmQuery query = query_of({.n = 64, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent},
                                  statistics_of(8192, 8192, 0.3), &hopper);
  for (const Policy policy : {Policy::warm, Policy::cold}) {
    query.policy = policy;
    for (const UnpackWgmmaConfig& config : ops::unpack_wgmma::short_list(query))
      CHECK(config.stream_strips == (policy == Policy::cold && config.tile_columns >= 64));
  }
}

TEST_CASE("unpack_wgmma prepares B, multiplies and sums") {
  for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call})
    for (const int k_split : {1, 2}) {
      const Spmm problem{.n = 128, .value_lifetime = lifetime};
      const ops::SpmmQuery query = query_of(problem, layer);
      UnpackWgmmaConfig config = ops::unpack_wgmma::default_config(query);
      config.k_split = k_split;
      config.cluster_sums = false;
      std::vector<std::string> names;
      for (const ops::Launch& launch : family().launches(query, ops::Config::of(config), {})) {
        names.push_back(launch.request().family);
        CHECK(launch.request().features == (names.back() == "unpack_wgmma" ? "a" : ""));
      }
      std::vector<std::string> wanted = {"split_dense", "unpack_wgmma"};
      if (lifetime == ValueLifetime::per_call) wanted.insert(wanted.begin(), "pack_strips");
      if (k_split > 1) wanted.emplace_back("unpack_sum");
      CHECK(names == wanted);
    }
  // 16 bits are copied from where they lie, f32 is split by the block: nothing goes before.
  for (const Dtype element : {Dtype::f16, Dtype::f32}) {
    const Spmm direct{.n = 128, .element = element, .value_lifetime = ValueLifetime::persistent};
    const ops::SpmmQuery query = query_of(direct, layer);
    UnpackWgmmaConfig config = ops::unpack_wgmma::default_config(query);
    config.k_split = 1;
    config.cluster_sums = false;
    config.prepare_dense = false;
    const std::vector<ops::Launch> alone = family().launches(query, ops::Config::of(config), {});
    REQUIRE(alone.size() == 1);
    config.prepare_dense = true;
    const std::int64_t prepared = ops::unpack_wgmma::workspace_layout(query, config).bytes;
    config.prepare_dense = false;
    CHECK(ops::unpack_wgmma::workspace_layout(query, config).bytes < prepared);
  }
}

TEST_CASE(
    "unpack_wgmma's slices of one cluster need no second launch and no memory between, and the kernel has the "
    "epilogue") {
  const Spmm problem{.n = 128, .value_lifetime = ValueLifetime::persistent, .epilogue = {.bias = Bias::per_row}};
  const ops::SpmmQuery query = query_of(problem, layer);
  UnpackWgmmaConfig config = ops::unpack_wgmma::default_config(query);
  config.k_split = 4;
  for (const bool cluster : {false, true}) {
    CAPTURE(cluster);
    config.cluster_sums = cluster;
    CHECK(ops::unpack_wgmma::traits(query, config).bias == (cluster ? Bias::per_row : Bias::none));
    const std::vector<ops::Launch> launches = family().launches(query, ops::Config::of(config), {});
    CHECK((launches.back().request().family == "unpack_sum") == !cluster);
    const ops::Launch& product = cluster ? launches.back() : launches[launches.size() - 2];
    REQUIRE(product.request().family == "unpack_wgmma");
    const device::LaunchShape shape = shape_of(product, problem);
    CHECK(shape.cluster == (cluster ? 4 : 1));
    CHECK(shape.grid.y == 4);
    const ops::unpack_wgmma::WorkspaceLayout layout = ops::unpack_wgmma::workspace_layout(query, config);
    CHECK((layout.bytes == layout.product.partial_offset_bytes) == cluster);
  }
}

TEST_CASE("unpack_wgmma splits a B that few rows of tiles read, and prepares one that many do") {
  const auto splits = [](const TopologyStatistics& statistics, std::int64_t n) {
    return !ops::unpack_wgmma::default_config(
                query_of({.n = n, .value_lifetime = ValueLifetime::persistent}, statistics))
                .prepare_dense;
  };
  CHECK(splits(statistics_of(128, 1152, 0.2), 200704));
  CHECK(splits(statistics_of(512, 512, 0.5), 256));
  CHECK_FALSE(splits(statistics_of(8192, 8192, 0.1), 4096));
}

TEST_CASE(
    "unpack_wgmma's workspace holds packed values, B's tiles, their scales and the sums of slices, each on its "
    "boundary") {
  const Spmm problem{.n = 100, .batch = 2};
  const ops::SpmmQuery query = query_of(problem, statistics_of(300, 200, 0.1));
  const UnpackWgmmaConfig config{.mode = PackedMode::f16x3, .warpgroups = 1, .tile_columns = 64, .k_split = 2};
  const ops::unpack_wgmma::WorkspaceLayout layout = ops::unpack_wgmma::workspace_layout(query, config);
  const std::int64_t tiles_begin = layout.dense.tiles_offset_bytes;
  CHECK(tiles_begin > 0);
  CHECK(tiles_begin % 256 == 0);
  CHECK(layout.dense.scales_offset_bytes == tiles_begin + std::int64_t{2} * 2 * 4 * 16384);
  CHECK(layout.product.partial_offset_bytes == layout.dense.scales_offset_bytes + std::int64_t{2} * 4 * 128 * 4);
  CHECK(layout.bytes == layout.product.partial_offset_bytes + std::int64_t{2} * 2 * 320 * 128 * 4);
}
