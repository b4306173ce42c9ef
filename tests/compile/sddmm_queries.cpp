#include "compile/sweep_queries.hpp"
#include "ops/sddmm/problem.hpp"

namespace vostok::test {

SweepQueries sddmm_queries() {
  const TopologyStatistics usual{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 200, .mean_row = 195};
  TopologyStatistics wide = usual;
  wide.cols = 1 << 20;
  const TopologyStatistics few{.rows = 64, .cols = 64, .nonzeros = 81, .longest_row = 9, .mean_row = 1.3};
  const TopologyStatistics dense{.rows = 2048, .cols = 512, .nonzeros = 1 << 19, .longest_row = 300, .mean_row = 256};
  const TopologyStatistics attention{
      .rows = 12288, .cols = 12288, .nonzeros = 15'000'000, .longest_row = 1400, .mean_row = 1220};
  SweepQueries list;
  const auto add = [&](const Sddmm& problem, const TopologyStatistics& statistics) {
    list.push_back(ops::make_query(problem, statistics, {problem.n, problem.n}, nullptr));
  };
  add({.n = 256}, usual);
  add({.n = 1024, .math = Math::strict}, wide);
  add({.n = 64, .batch = 8, .element = Dtype::f16}, usual);
  add({.n = 128,
       .element = Dtype::bf16,
       .output = Dtype::f32,
       .scale = Scale::device,
       .multiply = true,
       .accumulate = true},
      wide);
  add({.n = 33, .element = Dtype::f16, .alignment_bytes = 2}, usual);
  add({.n = 1, .lhs_layout = Layout::column_major, .rhs_layout = Layout::column_major, .scale = Scale::host}, usual);
  add({.n = 2048, .element = Dtype::bf16}, wide);
  add({.n = 3136, .scale = Scale::host, .multiply = true, .accumulate = true}, few);  // n in parts
  add({.n = 2048}, dense);
  add({.n = 200,
       .element = Dtype::bf16,
       .rhs_layout = Layout::column_major,
       .scale = Scale::device,
       .multiply = true,
       .accumulate = true},
      dense);
  add({.n = 256, .math = Math::tf32, .multiply = true, .accumulate = true}, dense);
  add({.n = 64, .batch = 8, .scale = Scale::host}, attention);
  add({.n = 128, .element = Dtype::f16}, attention);
  return list;
}

}  // namespace vostok::test
