#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "contains.hpp"
#include "ops/sddmm/row_strips.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

const TopologyStatistics layer{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 300, .mean_row = 195};

const ops::Family& family() { return *ops::find_family("sddmm", "row_strips"); }

std::shared_ptr<const ops::SddmmQuery> query_of(const Sddmm& problem, const TopologyStatistics& statistics = layer) {
  ops::validate(problem, statistics);
  return ops::make_query(problem, statistics, {problem.n, problem.n}, nullptr);
}

std::string reason_of(const Sddmm& problem, const std::function<void(RowStripsConfig&)>& change,
                      const TopologyStatistics& statistics = layer) {
  const auto query = query_of(problem, statistics);
  RowStripsConfig config = ops::row_strips::default_config(*query);  // the vector that alignment allows
  config.threads_per_strip = 8;
  config.strips_per_block = 16;
  config.min_blocks = 4;
  config.step_vectors = 1;
  config.strip_entries = statistics.longest_row < 32 ? 8 : 32;
  config.loads_in_flight = 8;
  config.overlap_batches = false;
  config.n_split = 1;
  change(config);
  return ops::row_strips::forbidden(*query, config).value_or("");
}

std::int64_t admitted(const ops::SddmmQuery& query, const std::vector<ops::Config>& configs) {
  return std::count_if(configs.begin(), configs.end(),
                       [&](const ops::Config& config) { return !family().forbidden(query, config); });
}

}  // namespace

TEST_CASE("row_strips's default config is admitted for every problem") {
  constexpr std::uint64_t seed = 5;
  INFO("seed " << seed);
  sparse::Random random(seed);
  for (int i = 0; i < 3000; ++i) {
    Sddmm problem{.n = random.below(std::int64_t{1} << random.below(14)),
                  .batch = 1 + random.below(3),
                  .element = static_cast<Dtype>(random.below(3))};
    if (random.below(2) == 0) problem.n = problem.n / 8 * 8;
    if (random.below(3) == 0) problem.lhs_leading = problem.n + random.below(20);
    if (random.below(3) == 0) problem.rhs_leading = problem.n + random.below(20);
    if (random.below(4) == 0) problem.rhs_layout = Layout::column_major, problem.rhs_leading = 0;
    problem.alignment_bytes = size_of(problem.element) << random.below(3);
    if (random.below(2) == 0) problem.math = Math::strict;
    const std::int64_t longest = random.below(5000);
    const TopologyStatistics statistics{.rows = 1 + random.below(std::int64_t{1} << random.below(20)),
                                        .cols = 1 + random.below(std::int64_t{1} << random.below(24)),
                                        .nonzeros = 1000,
                                        .longest_row = longest,
                                        .mean_row = static_cast<double>(random.below(longest + 1))};
    const auto query = query_of(problem, statistics);
    REQUIRE(!family().declines(*query));
    const auto reason = family().forbidden(*query, family().default_config(*query));
    INFO(to_text(family().default_config(*query).to_map()), ", n = ", problem.n, ", ", query->exact);
    CHECK_MESSAGE(!reason, reason.value_or(""));
  }
}

TEST_CASE(
    "row_strips's space starts with the default, repeats nothing, and its admitted part and short list are of the "
    "promised size") {
  for (const Dtype element : {Dtype::f32, Dtype::f16})
    for (const std::int64_t n : {64, 256, 2048}) {
      const auto query = query_of({.n = n, .element = element});
      const std::vector<ops::Config> space = family().space(*query);
      INFO("n = ", n, ", ", name(element));
      CHECK(space.front() == family().default_config(*query));
      CHECK(std::set<ops::Config>(space.begin(), space.end()).size() == space.size());
      CHECK(admitted(*query, space) >= 60);
      CHECK(admitted(*query, space) <= 800);
      const std::vector<ops::Config> list = family().short_list(*query);
      CHECK(std::set<ops::Config>(list.begin(), list.end()).size() == list.size());
      CHECK(list.front() == family().default_config(*query));
      CHECK(admitted(*query, list) >= 6);
      CHECK(list.size() <= 16);
    }
}

TEST_CASE("each rule of row_strips refuses a config that breaks it, with its reason") {
  struct Breach {
    const char* reason;
    std::function<void(RowStripsConfig&)> change;
  };
  const std::vector<Breach> breaches = {
      {"threads_per_strip is", [](RowStripsConfig& c) { c.threads_per_strip = 12; }},
      {"whole warps", [](RowStripsConfig& c) { c.strips_per_block = 3; }},
      {"strip_entries is", [](RowStripsConfig& c) { c.strip_entries = 48; }},
      {"dense_vector is a power", [](RowStripsConfig& c) { c.dense_vector = 8; }},
      {"step_vectors is", [](RowStripsConfig& c) { c.step_vectors = 3; }},
      {"loads_in_flight is", [](RowStripsConfig& c) { c.loads_in_flight = 64; }},
      {"min_blocks is 1 to 32", [](RowStripsConfig& c) { c.min_blocks = 0; }},
      {"more threads than a multiprocessor", [](RowStripsConfig& c) { c.min_blocks = 16; }},
      {"leaves", [](RowStripsConfig& c) { c.step_vectors = 4; }},
      {"past n",
       [](RowStripsConfig& c) {
         c.threads_per_strip = 32, c.strips_per_block = 4, c.step_vectors = 4, c.min_blocks = 1;
       }},
      {"shared memory",
       [](RowStripsConfig& c) { c.threads_per_strip = 1, c.strips_per_block = 512, c.min_blocks = 1; }},
      {"n_split is", [](RowStripsConfig& c) { c.n_split = 3; }},
      {"fewer steps", [](RowStripsConfig& c) { c.n_split = 16; }},
      {"nothing to overlap",
       [](RowStripsConfig& c) { c.strip_entries = c.loads_in_flight = 4, c.overlap_batches = true; }},
  };
  for (const Breach& breach : breaches) {
    const std::string reason = reason_of({.n = 256}, breach.change);
    CHECK_MESSAGE(test::contains(reason, breach.reason), breach.reason, " is not in \"", reason, "\"");
  }
}

TEST_CASE("rules of row_strips that depend on the problem refuse what a kinder one admits") {
  const auto vectors_of_four = [](RowStripsConfig& c) {
    c.dense_vector = 4, c.threads_per_strip = 8, c.strips_per_block = 16;
  };
  CHECK(reason_of({.n = 256}, vectors_of_four).empty());
  CHECK(test::contains(reason_of({.n = 256, .alignment_bytes = 8}, vectors_of_four), "alignment"));
  CHECK(test::contains(reason_of({.n = 256, .lhs_leading = 258}, vectors_of_four), "alignment"));
  CHECK(test::contains(reason_of({.n = 256, .batch = 2, .rhs_stride = 2048 * 256 + 1}, vectors_of_four), "alignment"));
  CHECK(test::contains(reason_of({.n = 254, .lhs_leading = 256, .rhs_leading = 256}, vectors_of_four),
                       "does not divide n"));
  const TopologyStatistics short_rows{.rows = 512, .cols = 2048, .nonzeros = 512, .longest_row = 3, .mean_row = 1};
  CHECK(test::contains(
      reason_of({.n = 256}, [](RowStripsConfig& c) { c.strip_entries = 16; }, short_rows), "stay empty"));
  FieldMap garbled = family().default_config(*query_of({.n = 256})).to_map();
  garbled["column_path"] = "telepathy";
  CHECK(!family().read(garbled));
}

TEST_CASE("a column-major operand is transposed into the workspace first, where its rows are aligned") {
  const Sddmm problem{.n = 250, .batch = 2, .element = Dtype::f16, .rhs_layout = Layout::column_major};
  const auto query = query_of(problem);
  const ops::Config config = family().default_config(*query);
  const ops::row_strips::DenseOperands dense = ops::row_strips::dense_operands(*query);
  CHECK(!dense.lhs.transposed);
  CHECK(dense.rhs.transposed);
  CHECK(dense.rhs.leading == 256);
  CHECK(family().workspace_bytes(*query, config) == 2 * 2048 * 256 * 2);
  CHECK(family().launches(*query, config, {}).size() == 2);
  CHECK(family().workspace_bytes(*query_of({.n = 250}), config) == 0);

  const auto both = query_of({.n = 250, .lhs_layout = Layout::column_major, .rhs_layout = Layout::column_major});
  CHECK(family().launches(*both, config, {}).size() == 3);
  CHECK(ops::row_strips::dense_operands(*both).rhs.workspace_offset == 512 * 252 * 4);
}

TEST_CASE(
    "few nonzeros with a long n are computed in parts, which lie in the workspace and are added by a launch of their "
    "own") {
  const TopologyStatistics few{.rows = 64, .cols = 64, .nonzeros = 81, .longest_row = 4, .mean_row = 1.3};
  const auto long_sums = query_of({.n = 802816}, few);
  const RowStripsConfig config = ops::row_strips::default_config(*long_sums);
  CHECK(config.n_split >= 32);
  CHECK(family().launches(*long_sums, ops::Config::of(config), {}).size() == 2);
  CHECK(family().workspace_bytes(*long_sums, ops::Config::of(config)) == std::int64_t{config.n_split} * 81 * 4);
  CHECK(ops::row_strips::default_config(*query_of({.n = 256})).n_split == 1);
  CHECK(ops::row_strips::default_config(*query_of({.n = 64}, few)).n_split == 1);
  const TopologyStatistics many{.rows = 1 << 20, .cols = 64, .nonzeros = 1 << 26, .longest_row = 64, .mean_row = 64};
  CHECK(test::contains(reason_of({.n = 256}, [](RowStripsConfig& c) { c.n_split = 2; }, many), "256 MiB"));
}

TEST_CASE("row_strips declines what its 32-bit positions cannot hold") {
  const TopologyStatistics large{.rows = 10, .cols = 10, .nonzeros = std::int64_t{1} << 31};
  CHECK(family().declines(*ops::make_query({.n = 4}, large, {4, 4}, nullptr)));
  CHECK(!family().declines(*query_of({.n = 4})));
}

TEST_CASE(
    "B takes 64-bit offsets past 2^31 bytes, and sums are blocked only past 256 products and where math is not "
    "strict") {
  const auto traits = [](const Sddmm& problem, std::int64_t cols) {
    return ops::row_strips::traits(*query_of(problem, {.rows = 1, .cols = cols, .nonzeros = 1, .longest_row = 1}));
  };
  CHECK(!traits({.n = 1024}, (std::int64_t{1} << 19) - 1).wide_offsets);
  CHECK(traits({.n = 1024}, std::int64_t{1} << 19).wide_offsets);
  CHECK(!traits({.n = 1024, .element = Dtype::bf16}, std::int64_t{1} << 19).wide_offsets);
  CHECK(traits({.n = 257}, 10).blocked_sum);
  CHECK(!traits({.n = 256}, 10).blocked_sum);
  CHECK(!traits({.n = 257, .math = Math::strict}, 10).blocked_sum);
}

TEST_CASE("row_strips's predictions are positive, and grow with n, nonzeros and the batch") {
  const auto predict = [](const Sddmm& problem, const TopologyStatistics& statistics) {
    const auto query = query_of(problem, statistics);
    return family().predict_us(*query, family().default_config(*query));
  };
  TopologyStatistics larger = layer;
  larger.rows *= 16;
  larger.nonzeros *= 16;
  const double usual = predict({.n = 256}, layer);
  CHECK(usual > 0);
  CHECK(std::isfinite(predict({.n = 0}, {.rows = 1, .cols = 1})));
  CHECK(predict({.n = 2048}, layer) > usual);
  CHECK(predict({.n = 256}, larger) > usual);
  CHECK(predict({.n = 256, .batch = 16}, layer) > usual);
}
