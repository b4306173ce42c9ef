// Families that read A's values as CSR holds them, with a column-major C.
// Neighbouring lanes have neighbouring columns, which lie far apart in it.
#include <doctest/doctest.h>

#include <algorithm>

#include "codegen/fields.hpp"
#include "ops/spmm/problem.hpp"
#include "ops/spmm/row_tile.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::query_of;

const TopologyStatistics empty{.rows = 512, .cols = 2048};
const ops::Family& row_tile() { return *ops::find_family("spmm", "row_tile"); }

Spmm by_columns(std::int64_t n, Dtype element) {
  return {.n = n, .element = element, .dense_layout = Layout::column_major, .output_layout = Layout::column_major};
}

/// Microseconds that a column-major C costs row_tile with one lane a row.
double column_major_us(std::int64_t n, double row_variation, bool row_swizzle) {
  TopologyStatistics statistics = test::statistics_of(512, 2048, 0.1);
  statistics.row_variation = row_variation;
  Spmm problem = by_columns(n, Dtype::f16);
  const ops::SpmmQuery columns = query_of(problem, statistics);
  problem.output_layout = Layout::row_major;
  const ops::SpmmQuery rows = query_of(problem, statistics);
  RowTileConfig config = ops::row_tile::paper_config(columns);
  config.threads_per_row = config.row_split = 1;
  config.row_swizzle = row_swizzle;
  return ops::row_tile::predict_us(columns, config) - ops::row_tile::predict_us(rows, config);
}

}  // namespace

TEST_CASE(
    "an empty matrix with a column-major C is predicted at most twice the time of a row-major one, by rows side by "
    "side") {
  for (const Dtype type : {Dtype::f32, Dtype::f16})
    for (const std::int64_t n : {256, 2048}) {
      const ops::SpmmQuery query = query_of(by_columns(n, type), empty);
      const RowTileConfig chosen = ops::row_tile::default_config(query);
      INFO("n = ", n);
      CHECK(lanes_per_row(chosen) == 1);
      CHECK(!chosen.row_swizzle);
      CHECK(row_tile().launches(query, ops::Config::of(chosen), {}).size() == 1);
      const ops::SpmmQuery rows = query_of({.n = n, .element = type}, empty);
      CHECK(ops::row_tile::predict_us(query, chosen) <
            2 * ops::row_tile::predict_us(rows, ops::row_tile::default_config(rows)));
    }
}

TEST_CASE("a column-major C costs row_tile a sector for each element that no neighbouring lane stores beside it") {
  constexpr double sectors_per_us = 6.5e4;
  constexpr double elements = 512 * 2048;
  CHECK(column_major_us(2048, 0.3, true) == doctest::Approx(elements / sectors_per_us));
  CHECK(column_major_us(2048, 0.3, false) == doctest::Approx(elements / 16 / sectors_per_us));
  CHECK(column_major_us(2048, 0, true) == doctest::Approx(elements / 16 / sectors_per_us));
  CHECK(column_major_us(1, 0.3, true) == doctest::Approx(0));
}

TEST_CASE("every family that stores rows of C counts the sectors of a column-major one") {
  for (const char* name : {"row_tile", "nonzero_split", "staged_rows"}) {
    const ops::Family& family = *ops::find_family("spmm", name);
    const TopologyStatistics statistics = test::statistics_of(512, 2048, 0.1);
    Spmm problem = by_columns(2048, Dtype::f32);
    const ops::SpmmQuery columns = query_of(problem, statistics);
    problem.output_layout = Layout::row_major;
    const ops::SpmmQuery rows = query_of(problem, statistics);
    const ops::Config config = family.default_config(rows);
    INFO(std::string(name));
    CHECK(family.predict_us(columns, config) > family.predict_us(rows, config) + 1);
  }
}
