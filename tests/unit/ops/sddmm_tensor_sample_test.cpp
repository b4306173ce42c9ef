#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "contains.hpp"
#include "ops/sddmm/row_strips.hpp"
#include "ops/sddmm/tensor_sample.hpp"
#include "sparse/generate.hpp"
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

const ops::Family& family() { return *ops::find_family("sddmm", "tensor_sample"); }

std::shared_ptr<const ops::SddmmQuery> query_of(const Sddmm& problem, const TopologyStatistics& statistics = layer) {
  ops::validate(problem, statistics);
  return ops::make_query(problem, statistics, {problem.n, problem.n}, nullptr);
}

std::string declined(const Sddmm& problem, const TopologyStatistics& statistics = layer) {
  return family().declines(*query_of(problem, statistics)).value_or("");
}

/// Admitted for n = 256 of the layer.
constexpr TensorSampleConfig usual{.warp_rows = 32};

std::string reason_of(const Sddmm& problem, const std::function<void(TensorSampleConfig&)>& change,
                      const TopologyStatistics& statistics = layer) {
  TensorSampleConfig config = usual;
  change(config);
  return ops::tensor_sample::forbidden(*query_of(problem, statistics), config).value_or("");
}

}  // namespace

TEST_CASE("tensor_sample's default config is admitted wherever the family does not decline") {
  constexpr std::uint64_t seed = 6;
  INFO("seed " << seed);
  sparse::Random random(seed);
  int served = 0;
  for (int i = 0; i < 300; ++i) {
    Sddmm problem{.n = 1 + random.below(std::int64_t{1} << random.below(16)),
                  .batch = 1 + random.below(3),
                  .element = static_cast<Dtype>(random.below(3))};
    if (random.below(3) == 0) problem.lhs_leading = problem.n + random.below(20);
    if (random.below(4) == 0) problem.rhs_layout = Layout::column_major;
    problem.alignment_bytes = size_of(problem.element) << random.below(3);
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
    "tensor_sample's space starts with the default and repeats nothing, and its admitted part and short list are of "
    "the promised size") {
  for (const TopologyStatistics& statistics : {layer, attention})
    for (const Dtype element : {Dtype::f32, Dtype::f16})
      for (const std::int64_t n : {64, 256}) {
        const auto query = query_of({.n = n, .element = element}, statistics);
        INFO("n = ", n, ", ", name(element));
        check_space(family(), *query, 1000);
        CHECK(admitted(family(), *query, family().space(*query)) >= 20);
        check_short_list(family(), *query, 16);
        CHECK(family().short_list(*query).size() >= 6);
      }
}

TEST_CASE("each rule of tensor_sample refuses a config that breaks it, with its reason") {
  struct Breach {
    const char* reason;
    std::function<void(TensorSampleConfig&)> change;
  };
  const std::vector<Breach> breaches = {
      {"1 to 32 warps", [](TensorSampleConfig& c) { c.row_warps = 0; }},
      {"1 to 32 warps", [](TensorSampleConfig& c) { c.row_warps = 8, c.column_warps = 8; }},
      {"multiple of 16", [](TensorSampleConfig& c) { c.warp_rows = 24; }},
      {"multiple of 16", [](TensorSampleConfig& c) { c.warp_columns = 8; }},
      {"power of two of columns", [](TensorSampleConfig& c) { c.column_warps = 3; }},
      {"multiple of 32 rows", [](TensorSampleConfig& c) { c.row_warps = 1, c.warp_rows = 48; }},
      {"mode is", [](TensorSampleConfig& c) { c.mode = PackedMode::f16x1; }},
      {"mode is", [](TensorSampleConfig& c) { c.mode = PackedMode::bf16x3; }},
      {"stages is", [](TensorSampleConfig& c) { c.stages = 1; }},
      {"promotion_steps is", [](TensorSampleConfig& c) { c.promotion_steps = 3; }},
      {"low_first needs", [](TensorSampleConfig& c) { c.low_first = true; }},
      {"tiles_per_block is", [](TensorSampleConfig& c) { c.tiles_per_block = 0; }},
      {"list_room is", [](TensorSampleConfig& c) { c.list_room = 4; }},
      {"list_room is", [](TensorSampleConfig& c) { c.list_room = 8192; }},
      {"n_split is", [](TensorSampleConfig& c) { c.n_split = 3; }},
      {"min_blocks is", [](TensorSampleConfig& c) { c.min_blocks = 0; }},
      {"kept_blocks is", [](TensorSampleConfig& c) { c.kept_blocks = 4; }},
      {"kept_blocks is", [](TensorSampleConfig& c) { c.kept_blocks = 2, c.tiles_per_block = 4; }},
      {"lose more", [](TensorSampleConfig& c) { c.promotion_steps = 4; }},
      {"lose more", [](TensorSampleConfig& c) { c.promotion_steps = 0; }},
      {"fewer blocks", [](TensorSampleConfig& c) { c.n_split = 8; }},
      {"shared memory", [](TensorSampleConfig& c) { c.stages = 8; }},
      {"registers",
       [](TensorSampleConfig& c) { c.warp_rows = 64, c.warp_columns = 64, c.column_warps = 1, c.list_room = 64; }},
  };
  CHECK(reason_of({.n = 256}, [](TensorSampleConfig&) {}).empty());
  for (const Breach& breach : breaches) {
    const std::string reason = reason_of({.n = 256}, breach.change);
    CHECK_MESSAGE(contains(reason, breach.reason), breach.reason, " is not in \"", reason, "\"");
  }
}

TEST_CASE("rules of tensor_sample that depend on the problem refuse what a kinder one admits") {
  const auto none = [](TensorSampleConfig&) {};
  CHECK(reason_of({.n = 2048}, none).empty());
  CHECK(contains(reason_of({.n = 2049}, none), "more sums of a part"));
  CHECK(reason_of({.n = 2049}, [](TensorSampleConfig& c) { c.n_split = 2; }).empty());
  CHECK(reason_of({.n = 2049, .math = Math::tf32}, none).empty());
  CHECK(reason_of({.n = 256, .math = Math::tf32}, [](TensorSampleConfig& c) { c.promotion_steps = 0; }).empty());
  const TopologyStatistics small{.rows = 16, .cols = 200, .nonzeros = 1000, .longest_row = 100, .mean_row = 62};
  CHECK(contains(reason_of({.n = 256}, none, small), "rows"));
  const TopologyStatistics narrow{.rows = 200, .cols = 16, .nonzeros = 1000, .longest_row = 10, .mean_row = 5};
  CHECK(contains(reason_of({.n = 256}, none, narrow), "columns"));
  FieldMap garbled = codegen::to_map(usual);
  garbled["mode"] = "f8";
  CHECK(!family().read(garbled));
}

TEST_CASE("tensor_sample declines what tensor cores may not compute, with the reason") {
  CHECK(declined({.n = 256}).empty());
  CHECK(contains(declined({.n = 256, .math = Math::strict}), "strict"));
  CHECK(declined({.n = 256, .nonfinite = NonFinite::sparse}).empty());
  CHECK(contains(declined({.n = 0}), "nothing to multiply"));
  CHECK(declined({.n = 65537}).empty());
  CHECK(contains(declined({.n = (1 << 20) + 1}), "1048576"));
  CHECK(declined({.n = (1 << 20) + 1, .math = Math::tf32}).empty());
  TopologyStatistics unsorted = layer;
  unsorted.sorted = false;
  CHECK(contains(declined({.n = 256}, unsorted), "sorted"));
  const TopologyStatistics sparse{
      .rows = 1 << 20, .cols = 1 << 20, .nonzeros = 1 << 21, .longest_row = 4, .mean_row = 2};
  CHECK(contains(declined({.n = 256}, sparse), "empty"));
  CHECK(!family().runs_on("sm_75"));
  CHECK(family().runs_on("sm_80"));
  CHECK(family().runs_on("emulator"));
}

TEST_CASE("tensor_sample's workspace holds the prepared operands and, where n is in parts, the parts of sums") {
  const auto query = query_of({.n = 256});
  TensorSampleConfig config = usual;
  const auto bytes = [&](const ops::SddmmQuery& q) { return family().workspace_bytes(q, ops::Config::of(config)); };
  // Of an element two terms, of a row an exponent and a mark.
  CHECK(bytes(*query) == (2048 + 512) * (256 * 4 + 2));
  CHECK(bytes(*query_of({.n = 256, .nonfinite = NonFinite::dense})) == (2048 + 512) * (256 * 4 + 1));
  CHECK(bytes(*query_of({.n = 193})) == bytes(*query));
  CHECK(family().launches(*query, ops::Config::of(config), {}).size() == 2);
  config.n_split = 2;
  CHECK(bytes(*query) == std::int64_t{2048 + 512} * (256 * 4 + 2 * 2) + std::int64_t{2} * 4 * layer.nonzeros);
  CHECK(family().launches(*query, ops::Config::of(config), {}).size() == 3);
  config = {.mode = PackedMode::f16x1, .warp_rows = 32, .promotion_steps = 4};
  CHECK(bytes(*query_of({.n = 256, .batch = 3, .element = Dtype::f16})) == 3 * (2048 + 512) * 256 * 2);
}

TEST_CASE("tensor_sample is predicted to beat row_strips on masks that are dense, and to lose on those that are not") {
  const ops::Family& strips = *ops::find_family("sddmm", "row_strips");
  const auto faster = [&](const Sddmm& problem, std::int64_t rows, std::int64_t cols, double density) {
    const auto nonzeros = static_cast<std::int64_t>(static_cast<double>(rows * cols) * density);
    const TopologyStatistics s{.rows = rows,
                               .cols = cols,
                               .nonzeros = nonzeros,
                               .longest_row = std::min(cols, 2 * nonzeros / rows),
                               .mean_row = static_cast<double>(nonzeros) / static_cast<double>(rows)};
    const auto query = query_of(problem, s);
    return family().predict_us(*query, family().default_config(*query)) <
           strips.predict_us(*query, strips.default_config(*query));
  };
  for (const std::int64_t n : {256, 2048}) {
    CHECK(faster({.n = n}, 2048, 512, 0.5));
    CHECK(faster({.n = n}, 2048, 512, 0.3));
    CHECK(!faster({.n = n}, 2048, 512, 0.02));
  }
  // On an H200 the one took 242 us at 10 % and the other 79 at 2 %; where between them they meet was not measured.
  CHECK(faster({.n = 64}, 12288, 12288, 0.1));
  CHECK(!faster({.n = 64}, 12288, 12288, 0.02));
  CHECK(!faster({.n = 64}, 12288, 12288, 0.005));
}
