#include "compile/sweep_queries.hpp"
#include "ops/conv/problem.hpp"

namespace vostok::test {

SweepQueries depthwise_queries() {
  SweepQueries list;
  const auto add = [&](const DepthwiseConvolution& problem) {
    list.push_back(ops::make_query(problem, {}, {}, nullptr));
  };
  add({.channels = 32,
       .height = 112,
       .width = 112,
       .padding = {1, 1, 1, 1},
       .bias = true,
       .activation = Activation::relu});
  add({.channels = 64, .height = 112, .width = 112, .stride = 2, .padding = {0, 1, 0, 1}});
  add({.batch = 64, .channels = 512, .height = 7, .width = 7, .padding = {1, 1, 1, 1}, .activation = Activation::silu});
  add({.batch = 64,
       .channels = 128,
       .height = 56,
       .width = 56,
       .kernel = 5,
       .padding = {2, 2, 2, 2},
       .element = Dtype::f16,
       .bias = true});
  add({.batch = 64,
       .channels = 128,
       .height = 56,
       .width = 56,
       .kernel = 5,
       .stride = 2,
       .padding = {2, 2, 2, 2},
       .element = Dtype::bf16,
       .bias = true,
       .bias_element = Dtype::bf16});
  add({.channels = 3,
       .height = 1,
       .width = 9,
       .kernel = 5,
       .padding = {2, 2, 3, 2},
       .element = Dtype::f16,
       .alignment_bytes = 2,
       .activation = Activation::gelu});
  add({.batch = 1 << 16, .channels = 1024, .height = 56, .width = 56, .activation = Activation::gelu_tanh});
  return list;
}

SweepQueries bias_activation_queries() {
  SweepQueries list;
  const auto add = [&](const BiasActivation& problem) { list.push_back(ops::make_query(problem, {}, {}, nullptr)); };
  add({.rows = 512, .columns = 3136});
  add({.batch = 8,
       .rows = 4096,
       .columns = 1024,
       .element = Dtype::f16,
       .bias = Bias::per_column,
       .activation = Activation::gelu});
  add({.rows = 7,
       .columns = 49,
       .element = Dtype::bf16,
       .alignment_bytes = 2,
       .bias = Bias::none,
       .activation = Activation::gelu_tanh});
  add({.rows = 96, .columns = 640, .element = Dtype::f16, .bias = Bias::per_column, .bias_element = Dtype::f16});
  add({.rows = 1 << 20, .columns = 1 << 12, .activation = Activation::silu});
  return list;
}

SweepQueries im2col_queries() {
  SweepQueries list;
  const auto add = [&](const Im2col& problem) { list.push_back(ops::make_query(problem, {}, {}, nullptr)); };
  add({.channels = 64, .height = 56, .width = 56, .padding = {1, 1, 1, 1}});
  add({.batch = 32, .channels = 512, .height = 7, .width = 7, .padding = {1, 1, 1, 1}, .element = Dtype::f16});
  add({.channels = 3,
       .height = 224,
       .width = 224,
       .kernel_height = 7,
       .kernel_width = 7,
       .stride = 2,
       .padding = {3, 3, 3, 3},
       .alignment_bytes = 4});
  add({.batch = 1024, .channels = 512, .height = 56, .width = 56, .element = Dtype::bf16});
  return list;
}

}  // namespace vostok::test
