#include "compile/sweep_queries.hpp"
#include "ops/softmax/problem.hpp"

namespace vostok::test {

namespace {

/// Short rows, those that a warp holds, and those that take blocks.
TopologyStatistics rows_of(double mean) {
  return {.rows = 1000,
          .cols = 1 << 20,
          .nonzeros = static_cast<std::int64_t>(1000 * mean),
          .longest_row = static_cast<std::int64_t>(2 * mean),
          .mean_row = mean,
          .row_variation = 0.4};
}

constexpr double short_row = 5;
constexpr double usual_row = 200;
constexpr double long_row = 40000;

}  // namespace

SweepQueries softmax_queries() {
  SweepQueries list;
  const auto add = [&](const Softmax& problem, double mean) {
    list.push_back(ops::make_query(problem, rows_of(mean), {}, nullptr));
  };
  for (const double mean : {short_row, usual_row, long_row}) add({}, mean);
  add({.element = Dtype::f16, .scale = Scale::host, .statistics = RowStatistics::write}, usual_row);
  add({.batch = 8, .element = Dtype::f16, .output = Dtype::f32, .scale = Scale::device}, long_row);
  add({.batch = 8, .element = Dtype::bf16, .scale = Scale::host, .statistics = RowStatistics::read}, usual_row);
  add({.element = Dtype::bf16, .alignment_bytes = 2, .statistics = RowStatistics::write}, long_row);
  add({.output = Dtype::f16, .alignment_bytes = 4, .scale = Scale::device, .statistics = RowStatistics::read},
      short_row);
  TopologyStatistics wide = rows_of(usual_row);
  wide.nonzeros = std::int64_t{1} << 32;
  list.push_back(ops::make_query(Softmax{.statistics = RowStatistics::write}, wide, {}, nullptr));
  return list;
}

SweepQueries softmax_backward_queries() {
  SweepQueries list;
  const auto add = [&](const SoftmaxBackward& problem, double mean) {
    list.push_back(ops::make_query(problem, rows_of(mean), {}, nullptr));
  };
  for (const double mean : {short_row, usual_row, long_row}) add({}, mean);
  add({.batch = 8, .element = Dtype::f16, .output = Dtype::f32, .scale = Scale::device}, long_row);
  add({.element = Dtype::bf16, .scale = Scale::host}, usual_row);
  add({.element = Dtype::f16, .alignment_bytes = 2}, short_row);
  return list;
}

}  // namespace vostok::test
