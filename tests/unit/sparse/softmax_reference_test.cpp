#include "sparse/softmax_reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace vostok;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
const float f_infinity = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("the softmax reference is exp over its sum, row by row") {
  const std::vector<std::int64_t> offsets = {0, 2, 2, 3};
  const std::vector<float> x = {1, 3, 1000};
  const auto reference = sparse::softmax(offsets, x, 0.5);
  CHECK(reference.values[0] == doctest::Approx(1 / (1 + std::exp(1.0))));
  CHECK(reference.values[1] == doctest::Approx(1 / (1 + std::exp(-1.0))));
  CHECK(reference.values[2] == 1);
  const auto logarithms = sparse::log_sum_exp(offsets, x, 0.5);
  CHECK(logarithms[0] == doctest::Approx(std::log(std::exp(0.5) + std::exp(1.5))));
  CHECK(logarithms[1] == -infinity);
  CHECK(logarithms[2] == 500);
  const std::vector<float> rounded(logarithms.begin(), logarithms.end());
  const auto again = sparse::softmax_from_statistics(offsets, x, 0.5, rounded);
  for (std::size_t i = 0; i < 3; ++i) CHECK(again.values[i] == doctest::Approx(reference.values[i]).epsilon(1e-6));
}

TEST_CASE(
    "in the softmax reference -infinity leaves its row, alone it gives zeros, and NaN and infinity spoil their row") {
  const std::vector<std::int64_t> offsets = {0, 2, 4, 6, 8};
  const std::vector<float> x = {-f_infinity, 1, -f_infinity, -f_infinity, f_infinity, 1, NAN, 1};
  for (const double scale : {1.0, 0.0}) {
    const auto reference = sparse::softmax(offsets, x, scale);
    CHECK(reference.values[0] == 0);
    CHECK(reference.values[1] == 1);
    CHECK(reference.values[2] == 0);
    for (std::size_t i = 4; i < 8; ++i) CHECK(std::isnan(reference.values[i]));
  }
}

TEST_CASE("the softmax gradient's reference agrees with finite differences") {
  const std::vector<std::int64_t> offsets = {0, 3};
  const std::vector<float> x = {0.5F, -1, 2}, dy = {1, -2, 0.25F};
  const double scale = 0.7, step = 1e-3;
  const auto y = sparse::softmax(offsets, x, scale);
  const auto gradient =
      sparse::softmax_backward(offsets, std::vector<float>(y.values.begin(), y.values.end()), dy, scale);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<float> up = x, down = x;
    up[i] += static_cast<float>(step);
    down[i] -= static_cast<float>(step);
    const auto above = sparse::softmax(offsets, up, scale), below = sparse::softmax(offsets, down, scale);
    double difference = 0;
    for (std::size_t j = 0; j < 3; ++j) difference += static_cast<double>(dy[j]) * (above.values[j] - below.values[j]);
    CHECK(gradient.values[i] == doctest::Approx(difference / (2 * step)).epsilon(1e-3));
  }
}
