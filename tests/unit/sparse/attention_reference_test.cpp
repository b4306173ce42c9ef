#include "sparse/attention_reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sparse/generate.hpp"

namespace vostok::sparse {
namespace {

/// The inputs of one small head.
struct Inputs {
  std::int64_t n;
  std::int64_t value_size;
  std::vector<float> query, key, value, output_gradient, bias;

  Inputs(const Csr& mask, std::int64_t n_, std::int64_t value_size_, std::uint64_t seed)
      : n(n_),
        value_size(value_size_),
        query(normal_values(mask.rows * n, seed)),
        key(normal_values(mask.cols * n, seed + 1)),
        value(normal_values(mask.cols * value_size, seed + 2)),
        output_gradient(normal_values(mask.rows * value_size, seed + 3)),
        bias(normal_values(mask.nonzeros(), seed + 4)) {}

  AttentionHead head(double scale, double softcap = 0, float dropout = 0) const {
    return {.query = {.data = query.data(), .row_step = n},
            .key = {.data = key.data(), .row_step = n},
            .value = {.data = value.data(), .row_step = value_size},
            .n = n,
            .value_size = value_size,
            .scale = scale,
            .softcap = softcap,
            .bias = bias,
            .dropout = {.rate = dropout, .seed = 5, .offset = 6, .head = 7}};
  }
  DenseView gradient() const { return {.data = output_gradient.data(), .row_step = value_size}; }
  /// What the gradients are of.
  double loss(const Csr& mask, double scale, double softcap, float dropout) const {
    const std::vector<double> output = attention(mask, head(scale, softcap, dropout)).output;
    double sum = 0;
    for (std::size_t i = 0; i < output.size(); ++i) sum += output[i] * static_cast<double>(output_gradient[i]);
    return sum;
  }
};

TEST_CASE("a query with equal scores averages its keys' values, and one without keys gets zeros") {
  const Csr mask{.rows = 2, .cols = 3, .row_offsets = {0, 2, 2}, .column_indices = {0, 2}};
  const std::vector<float> query = {0, 0, 5, 5};
  const std::vector<float> key = {1, 2, 9, 9, 3, 4};
  const std::vector<float> value = {10, 100, 20};
  const AttentionForward forward = attention(mask, {.query = {.data = query.data(), .row_step = 2},
                                                    .key = {.data = key.data(), .row_step = 2},
                                                    .value = {.data = value.data(), .row_step = 1},
                                                    .n = 2,
                                                    .value_size = 1});
  CHECK(forward.probabilities == std::vector<double>{0.5, 0.5});
  CHECK(forward.output == std::vector<double>{15, 0});
  CHECK(forward.logarithms[0] == doctest::Approx(std::log(2.0)));
  CHECK(forward.logarithms[1] == -std::numeric_limits<double>::infinity());
}

TEST_CASE("a bias is added to scores that were scaled and capped, and one of -infinity leaves its element out") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Csr mask{.rows = 3, .cols = 2, .row_offsets = {0, 2, 4, 5}, .column_indices = {0, 1, 0, 1, 1}};
  const std::vector<float> query = {2, 1, 1}, key = {1, 3}, value = {10, 20};
  const std::vector<float> bias = {0.5F, -0.25F, -infinity, 1, -infinity};
  const AttentionForward forward = attention(mask, {.query = {.data = query.data(), .row_step = 1},
                                                    .key = {.data = key.data(), .row_step = 1},
                                                    .value = {.data = value.data(), .row_step = 1},
                                                    .n = 1,
                                                    .value_size = 1,
                                                    .scale = 0.5,
                                                    .softcap = 2,
                                                    .bias = bias});
  const double first = std::exp(2 * std::tanh(0.5) + 0.5), second = std::exp(2 * std::tanh(1.5) - 0.25);
  CHECK(forward.output[0] == doctest::Approx((10 * first + 20 * second) / (first + second)));
  CHECK(forward.output[1] == 20);
  CHECK(forward.output[2] == 0);
  CHECK(forward.logarithms[2] == -infinity);
}

void check_gradients(double softcap, float dropout) {
  CAPTURE(softcap);
  CAPTURE(dropout);
  const Csr mask = uniform(6, 7, 0.5, 3);
  constexpr double scale = 0.6;
  Inputs inputs(mask, 3, 4, 11);
  const AttentionGradients gradients =
      attention_gradients(mask, inputs.head(scale, softcap, dropout), inputs.gradient());
  const auto check = [&](std::vector<float>& input, const std::vector<double>& gradient) {
    REQUIRE(gradient.size() == input.size());
    for (std::size_t i = 0; i < input.size(); ++i) {
      const float middle = input[i];
      input[i] = middle + 0x1p-10F;
      const double above = inputs.loss(mask, scale, softcap, dropout);
      const float step_above = input[i];
      input[i] = middle - 0x1p-10F;
      const double difference = (above - inputs.loss(mask, scale, softcap, dropout)) /
                                (static_cast<double>(step_above) - static_cast<double>(input[i]));
      input[i] = middle;
      CHECK(std::abs(difference - gradient[i]) < 1e-5);
    }
  };
  check(inputs.query, gradients.query);
  check(inputs.key, gradients.key);
  check(inputs.value, gradients.value);
  check(inputs.bias, gradients.bias);
}

TEST_CASE("attention's gradients agree with central differences") {
  for (const double softcap : {0.0, 1.25})
    for (const float dropout : {0.0F, 0.3F}) check_gradients(softcap, dropout);
}

TEST_CASE("a causal mask keeps what the last query and those before it see") {
  const Csr mask{.rows = 2, .cols = 3, .row_offsets = {0, 3, 5}, .column_indices = {2, 0, 1, 2, 0}};
  const Csr causal = causal_mask(mask);
  CHECK(causal.row_offsets == std::vector<std::int64_t>{0, 2, 4});
  CHECK(causal.column_indices == std::vector<std::int32_t>{0, 1, 2, 0});
  CHECK(causal_mask({.rows = 3, .cols = 1, .row_offsets = {0, 1, 2, 3}, .column_indices = {0, 0, 0}}).row_offsets ==
        std::vector<std::int64_t>{0, 0, 0, 1});
}

}  // namespace
}  // namespace vostok::sparse
