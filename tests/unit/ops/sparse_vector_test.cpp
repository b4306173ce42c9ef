#include "ops/spmm/sparse_vector.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "codegen/fields.hpp"
#include "contains.hpp"
#include "ops/topology/packed_format.hpp"
#include "ops/topology/packed_runs.hpp"
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
using test::statistics_of;

constexpr std::uint64_t seed = 17;

const TopologyStatistics layer = statistics_of(8192, 2048, 0.3);

const ops::Family& family() { return *ops::find_family("spmm", "sparse_vector"); }

/// The reason against the default config with one change.
std::string forbidden(const ops::SpmmQuery& query, const std::function<void(SparseVectorConfig&)>& change) {
  SparseVectorConfig config = ops::sparse_vector::default_config(query);
  change(config);
  return ops::sparse_vector::forbidden(query, config).value_or("");
}

std::string declined(const Spmm& problem, const TopologyStatistics& statistics,
                     const device::Device* device = nullptr) {
  return family().declines(query_of(problem, statistics, device)).value_or("");
}

}  // namespace

TEST_CASE("sparse_vector takes up to four columns of any type, math and semantics, and says why it takes no more") {
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const Math math : {Math::strict, Math::accurate, Math::tf32})
      for (const NonFinite nonfinite : {NonFinite::dense, NonFinite::sparse})
        CHECK(declined({.n = 4, .element = element, .math = math, .nonfinite = nonfinite}, layer).empty());
  CHECK(contains(declined({.n = 5}, layer), "past 4"));
  CHECK(contains(declined({.n = 1}, {.rows = 8, .cols = 8}), "no nonzeros"));
  CHECK(contains(declined({.n = 1}, statistics_of(64, 70000, 0.1)), "16 bits"));
  CHECK(contains(declined({.n = 1}, statistics_of(8192, 8192, 0.0005)), "too narrow"));
  TopologyStatistics other = layer;
  other.duplicates = true;
  CHECK(contains(declined({.n = 1}, other), "twice"));
  other = layer;
  other.sorted = false;
  CHECK(contains(declined({.n = 1}, other), "sorted"));
  // 65536 rows of four columns of f32 are a megabyte, and of one column of f16 128 KiB.
  test::FakeDevice device;
  CHECK(contains(declined({.n = 4}, statistics_of(64, 65536, 0.1), &device), "shared memory"));
  CHECK(declined({.n = 1, .element = Dtype::f16}, statistics_of(64, 65536, 0.1), &device).empty());
  CHECK(declined({.n = 4, .element = Dtype::f16}, statistics_of(8192, 28672, 0.1), &device).empty());
}

TEST_CASE(
    "sparse_vector's default config is admitted wherever the family does not decline, and lists begin with it and "
    "repeat nothing") {
  INFO("seed " << seed);
  sparse::Random random(seed);
  test::FakeDevice large;
  for (int i = 0; i < 60; ++i) {
    Spmm problem{.n = 1 + random.below(4)};
    problem.element = static_cast<Dtype>(random.below(3));
    problem.dense_layout = static_cast<Layout>(random.below(2));
    problem.batch = 1 + random.below(3);
    problem.alignment_bytes = size_of(problem.element) << random.below(3);
    problem.value_lifetime = static_cast<ValueLifetime>(random.below(2));
    const TopologyStatistics statistics =
        statistics_of(1 + random.below(9000), 1 + random.below(9000), 0.01 * static_cast<double>(1 + random.below(99)));
    const ops::SpmmQuery query = query_of(problem, statistics, i % 3 == 0 ? nullptr : &large);
    INFO(ops::exact_key(problem), ", n = ", problem.n, ", ", statistics.rows, " x ", statistics.cols);
    const std::string reason = family().declines(query).value_or("");
    if (i % 3 != 0) CHECK(reason.empty());
    if (!reason.empty()) continue;
    check_short_list(family(), query, 16);
    if (i % 10 == 1) check_space(family(), query, 2000);
  }
}

TEST_CASE("sparse_vector's rules name what they forbid") {
  const ops::SpmmQuery query = query_of({.n = 2, .element = Dtype::f16}, layer);
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.gap_bits = 5; }), "gaps"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.columns = 1; }), "at least n"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.columns = 4; }), "half of the columns"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.threads = 96; }), "threads"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.lanes_per_row = 2; }), "lanes_per_row"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.lanes_per_row = 2 * c.threads; }), "lanes_per_row"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.dense_rows = 1024; }), "holds k"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { ++c.tile_rows; }), "tile_rows"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.min_blocks = 0; }), "min_blocks"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.dense_rows = 1 << 16; }), "shared memory"));
  CHECK(contains(forbidden(query, [](SparseVectorConfig& c) { c.min_blocks = 32; }), "min_blocks blocks"));
  CHECK(contains(forbidden(query,
                           [](SparseVectorConfig& c) {
                             c.threads = c.lanes_per_row = 512, c.tile_rows = c.min_blocks = 1, c.load_ahead = false;
                           }),
                 "half of their lanes"));
  CHECK(contains(forbidden(query_of({.n = 2}, layer), [](SparseVectorConfig& c) { c.wide_dense = false; }), "wide"));
  CHECK(contains(
      forbidden(query_of({.n = 1}, statistics_of(8192, 2048, 0.01)), [](SparseVectorConfig& c) { c.gap_bits = 4; }),
      "escapes"));
}

TEST_CASE("sparse_vector's gaps follow the density, and the format follows the gaps") {
  test::FakeDevice device;
  const auto format_of = [&](double density, Dtype element) {
    const ops::SpmmQuery query = query_of({.n = 1, .element = element, .value_lifetime = ValueLifetime::persistent},
                                          statistics_of(8192, 8192, density), &device);
    return family().packed_format(query, family().default_config(query));
  };
  CHECK(format_of(0.5, Dtype::f16) == "runs32/gap4/f16");
  CHECK(format_of(0.2, Dtype::bf16) == "runs32/gap4/bf16");
  CHECK(format_of(0.05, Dtype::f16) == "runs32/gap8/f16");
  CHECK(format_of(0.05, Dtype::f32) == "runs32/gap8/f32");
  for (const int gap_bits : {4, 8})
    for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      const ops::PackedFormat* const format = ops::find_packed_format(ops::runs_format(gap_bits, element));
      REQUIRE(format != nullptr);
      CHECK(format->needs().run_gap_bits == gap_bits);
      CHECK(format->needs().packed());
      ops::TopologyPointers form;
      form.runs.groups = 3;
      CHECK(format->set_bytes(form) == 3 * 1024 * size_of(element));
    }
}

TEST_CASE("sparse_vector stages B as it lies where its rows follow one another without gaps") {
  const auto traits_of = [](const Spmm& problem) { return ops::sparse_vector::traits(query_of(problem, layer)); };
  CHECK(traits_of({.n = 1}).flat_dense);
  CHECK(traits_of({.n = 4, .element = Dtype::f16, .dense_leading = 4}).flat_dense);
  CHECK(traits_of({.n = 1, .dense_layout = Layout::column_major, .dense_leading = 3000}).flat_dense);
  CHECK_FALSE(traits_of({.n = 3}).flat_dense);
  CHECK_FALSE(traits_of({.n = 1, .dense_leading = 2}).flat_dense);
  CHECK_FALSE(traits_of({.n = 2, .dense_layout = Layout::column_major}).flat_dense);
  CHECK_FALSE(ops::sparse_vector::traits(*ops::make_query({.n_values = {4}}, layer, {1, 4}, nullptr)).flat_dense);
  CHECK(traits_of({.n = 2, .element = Dtype::f16}).dense_alignment == 16);
  CHECK(traits_of({.n = 2, .batch = 2, .element = Dtype::f16, .dense_stride = 4098}).dense_alignment == 4);
  CHECK(traits_of({.n = 1, .element = Dtype::f16, .alignment_bytes = 2}).dense_alignment == 2);
}

TEST_CASE(
    "sparse_vector packs into the workspace only where every call brings its values, and its room suits every "
    "structure") {
  test::FakeDevice device;
  Spmm problem{.n = 1, .batch = 3, .values_per_batch = true, .element = Dtype::f16};
  for (const ValueLifetime lifetime : {ValueLifetime::per_call, ValueLifetime::persistent}) {
    problem.value_lifetime = lifetime;
    const ops::SpmmQuery query = query_of(problem, layer, &device);
    const ops::Config config = family().default_config(query);
    const bool packs = lifetime == ValueLifetime::per_call;
    CHECK(family().launches(query, config, {}).size() == (packs ? 2 : 1));
    CHECK((family().workspace_bytes(query, config) > 0) == packs);
    if (packs) CHECK(family().workspace_bytes(query, config) >= std::int64_t{3} * 2 * layer.nonzeros);
    CHECK(family().needs(query, config).packed());
  }
}

TEST_CASE(
    "the heuristic prefers sparse_vector for one column of persistent values of a layer; packing at every call costs "
    "it more than the product") {
  test::FakeDevice device;
  for (const double density : {0.5, 0.3, 0.1})
    for (const Dtype element : {Dtype::f16, Dtype::f32}) {
      const auto query_with = [&](ValueLifetime lifetime) {
        return query_of({.n = 1, .element = element, .value_lifetime = lifetime}, statistics_of(8192, 8192, density),
                        &device);
      };
      const auto best = [&](ValueLifetime lifetime) {
        const ops::SpmmQuery query = query_with(lifetime);
        std::string name;
        double least = 0;
        for (const auto& listed : ops::families("spmm")) {
          if (listed->declines(query)) continue;
          const double us = listed->predict_us(query, listed->default_config(query));
          INFO(listed->name() << ": " << us);
          if (name.empty() || us < least) name = listed->name(), least = us;
        }
        return name;
      };
      INFO("density " << density << ", " << name(element));
      CHECK(best(ValueLifetime::persistent) == "sparse_vector");
      const auto predicted = [&](ValueLifetime lifetime) {
        const ops::SpmmQuery query = query_with(lifetime);
        return family().predict_us(query, family().default_config(query));
      };
      CHECK(predicted(ValueLifetime::per_call) > 1.8 * predicted(ValueLifetime::persistent));
    }
}
