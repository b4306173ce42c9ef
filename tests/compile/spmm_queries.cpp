#include "compile/sweep_queries.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::test {

SweepQueries spmm_queries() {
  const TopologyStatistics usual{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 200, .mean_row = 195};
  TopologyStatistics long_rows = usual;
  long_rows.longest_row = 2000;
  TopologyStatistics wide = usual;
  wide.cols = 1 << 20;
  TopologyStatistics dense = usual;
  dense.nonzeros = 400000;
  TopologyStatistics many = long_rows;
  many.nonzeros = std::int64_t{1} << 31;
  const Epilogue everything{.bias = Bias::per_row,
                            .residual = true,
                            .activation = Activation::gelu,
                            .scale = Scale::device,
                            .accumulate = true};
  const Epilogue columns{.bias = Bias::per_column, .activation = Activation::silu, .scale = Scale::host};

  SweepQueries list;
  const auto add = [&](const Spmm& problem, const TopologyStatistics& statistics) {
    list.push_back(ops::make_query(problem, statistics, {problem.n, problem.n}, nullptr));
  };
  add({.n = 256}, usual);
  add({.n = 256, .index = IndexType::i32, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}},
      long_rows);
  add({.n = 50176, .epilogue = {.bias = Bias::per_column, .scale = Scale::host}}, usual);
  add({.n = 192,
       .element = Dtype::bf16,
       .dense_layout = Layout::column_major,
       .output_layout = Layout::column_major,
       .value_lifetime = ValueLifetime::persistent,
       .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::bf16}},
      usual);
  add({.n = 64, .element = Dtype::f16, .epilogue = {.bias = Bias::per_column, .bias_element = Dtype::f16}}, usual);
  add({.n = 2,
       .element = Dtype::f16,
       .value_lifetime = ValueLifetime::persistent,
       .epilogue = {.bias = Bias::per_row, .bias_element = Dtype::f16}},
      dense);
  add({.n = 1024, .math = Math::strict}, wide);
  add({.n = 1}, usual);
  add({.n = 6}, long_rows);
  add({.n = 255, .alignment_bytes = 4}, wide);
  add({.n = 256, .element = Dtype::f16}, usual);
  add({.n = 256, .element = Dtype::bf16, .epilogue = columns}, long_rows);
  add({.n = 1024,
       .batch = 8,
       .values_per_batch = true,
       .element = Dtype::f16,
       .output = Dtype::f32,
       .epilogue = everything},
      wide);
  add({.n = 64, .batch = 8, .element = Dtype::bf16, .sparse_transposed = true, .epilogue = everything}, long_rows);
  add({.n = 512,
       .sparse_transposed = true,
       .dense_layout = Layout::column_major,
       .output_layout = Layout::column_major,
       .epilogue = everything},
      long_rows);
  add({.n = 255, .element = Dtype::f16, .alignment_bytes = 2, .math = Math::strict}, usual);
  add({.n = 128,
       .element = Dtype::bf16,
       .output = Dtype::f16,
       .dense_layout = Layout::column_major,
       .epilogue = {.activation = Activation::gelu_tanh}},
      usual);
  add({.n = 8, .element = Dtype::f16, .output_layout = Layout::column_major}, many);
  add({.n = 48, .math = Math::tf32, .value_lifetime = ValueLifetime::persistent}, usual);
  add({.n = 20,
       .element = Dtype::f16,
       .dense_layout = Layout::column_major,
       .alignment_bytes = 2,
       .value_lifetime = ValueLifetime::persistent},
      usual);
  add({.n = 2, .element = Dtype::f16, .value_lifetime = ValueLifetime::persistent}, dense);
  add({.n = 128, .nonfinite = NonFinite::dense, .value_lifetime = ValueLifetime::persistent}, usual);
  add({.n = 24,
       .element = Dtype::f16,
       .output = Dtype::f32,
       .nonfinite = NonFinite::dense,
       .value_lifetime = ValueLifetime::persistent},
      usual);
  add({.n = 3, .element = Dtype::bf16, .output = Dtype::f32, .nonfinite = NonFinite::dense, .epilogue = everything},
      dense);
  return list;
}

}  // namespace vostok::test
