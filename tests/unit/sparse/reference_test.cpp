#include "sparse/reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "sparse/generate.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// The definition: one element at a time, in the order of the nonzeros.
std::vector<double> spmm_by_definition(const Csr& a, const std::vector<float>& values, const std::vector<float>& dense,
                                       std::int64_t n, std::int64_t leading) {
  std::vector<double> c(static_cast<std::size_t>(a.rows * n));
  for (std::int64_t row = 0; row < a.rows; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      for (std::int64_t i = a.row_offsets[row]; i < a.row_offsets[row + 1]; ++i) {
        c[row * n + column] +=
            static_cast<double>(values[i]) * static_cast<double>(dense[a.column_indices[i] * leading + column]);
      }
    }
  }
  return c;
}

double epilogue_of(double c, Activation activation) {
  std::vector<double> one = {c};
  apply_epilogue(one, 1, 1, {.activation = activation}, {});
  return one[0];
}

}  // namespace

TEST_CASE("the reference product is the definition's, for any shape and leading dimension") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed ", seed);
    Random random(seed);
    const std::int64_t rows = random.below(70), cols = 1 + random.below(70), n = random.below(50),
                       leading = n + random.below(5);
    const Csr a = uniform(rows, cols, random.uniform(), seed, random.uniform());
    const std::vector<float> values = normal_values(a.nonzeros(), seed + 100);
    const std::vector<float> dense =
        normal_values((cols - 1) * leading + n, seed + 200);  // not one element past the last row's end
    CHECK(spmm(a, values, dense, n, leading) == spmm_by_definition(a, values, dense, n, leading));
  }
}

TEST_CASE("repeated columns add up and unsorted ones are legal") {
  const Csr a{.rows = 1, .cols = 3, .row_offsets = {0, 3}, .column_indices = {2, 0, 2}};
  CHECK(spmm(a, std::vector<float>{1, 10, 2}, std::vector<float>{5, 6, 7}, 1, 1) == std::vector<double>{71});
}

TEST_CASE("elements of B that A lacks never touch the product") {
  const Csr a{.rows = 2, .cols = 3, .row_offsets = {0, 1, 1}, .column_indices = {1}};
  const std::vector<float> dense = {std::nanf(""), std::nanf(""), 3, 4, std::nanf(""), std::nanf("")};
  CHECK(spmm(a, std::vector<float>{2}, dense, 2, 2) == std::vector<double>{6, 8, 0, 0});
}

TEST_CASE("operands of the wrong size are refused") {
  const Csr a{.rows = 1, .cols = 3, .row_offsets = {0, 1}, .column_indices = {1}};
  const auto refused = [](const char* part, auto work) {
    testing::check_refused(ErrorCode::invalid_argument, {part}, work);
  };
  refused("2 values for 1 nonzeros", [&] { spmm(a, std::vector<float>(2), std::vector<float>(6), 2, 2); });
  refused("5 elements of 6", [&] { spmm(a, std::vector<float>(1), std::vector<float>(5), 2, 2); });
  refused("leading dimension of 1", [&] { spmm(a, std::vector<float>(1), std::vector<float>(6), 2, 1); });
}

TEST_CASE("the epilogue scales, adds the bias, the residual and what was there, and activates, in that order") {
  const std::vector<double> c = {1, -2, 3, -4, 5, -6};
  const std::vector<float> row_bias = {10, 1}, column_bias = {1, 2, 3}, residual = {1, 0, 0, 0, 0, 20},
                           previous = {0, 0, 0, 0, -40, 0};
  std::vector<double> y = c;
  apply_epilogue(y, 2, 3, {.bias = Bias::per_row, .activation = Activation::relu, .scale = Scale::host},
                 {.scale = 2, .bias = row_bias});
  CHECK(y == std::vector<double>{12, 6, 16, 0, 11, 0});
  y = c;
  apply_epilogue(y, 2, 3, {.bias = Bias::per_column, .scale = Scale::device}, {.scale = -1, .bias = column_bias});
  CHECK(y == std::vector<double>{0, 4, 0, 5, -3, 9});
  y = c;
  apply_epilogue(y, 2, 3, {.residual = true, .activation = Activation::relu, .accumulate = true},
                 {.residual = residual, .previous = previous});
  CHECK(y == std::vector<double>{2, 0, 3, 0, 0, 14});
  y = c;
  apply_epilogue(y, 2, 3, {}, {.scale = 2, .bias = row_bias, .residual = residual, .previous = previous});
  CHECK(y == c);  // what the epilogue does not ask for is ignored
}

TEST_CASE("activations have their known values") {
  CHECK(epilogue_of(-3, Activation::relu) == 0);
  CHECK(epilogue_of(3, Activation::relu) == 3);
  CHECK(epilogue_of(1, Activation::gelu) == doctest::Approx(0.8413447460685429).epsilon(1e-14));
  CHECK(epilogue_of(-10, Activation::gelu) == doctest::Approx(-7.619853024160527e-23).epsilon(1e-12));
  CHECK(epilogue_of(1, Activation::gelu_tanh) == doctest::Approx(0.8411919906082768).epsilon(1e-14));
  CHECK(epilogue_of(1, Activation::silu) == doctest::Approx(0.7310585786300049).epsilon(1e-14));
  for (const Activation activation :
       {Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
    INFO(name(activation));
    CHECK(epilogue_of(0, activation) == 0);
    CHECK(std::isnan(epilogue_of(nan_value, activation)));
  }
}

TEST_CASE("an epilogue's operand that is too short is refused by name") {
  std::vector<double> c = {1};
  const auto refused = [&](const char* text, const Epilogue& epilogue) {
    testing::check_refused(ErrorCode::invalid_argument, {text}, [&] { apply_epilogue(c, 1, 1, epilogue, {}); });
  };
  refused("0 bias values of 1", {.bias = Bias::per_row});
  refused("0 residual values of 1", {.residual = true});
  refused("0 previous values of 1", {.accumulate = true});
}

TEST_CASE("the relative error is the difference's norm over the reference's") {
  CHECK(relative_error(std::vector<float>{3, 4, 99, 0, 5, 99}, 3, std::vector<double>{3, 4, 0, 0}, 2, 2) ==
        1);  // 99 lies past n
  CHECK(relative_error(std::vector<float>{3, 4}, 2, std::vector<double>{3, 4}, 1, 2) == 0);
  CHECK(relative_error(std::vector<float>{3, 4}, 2, std::vector<double>{0, 0}, 1, 2) == 5);
  CHECK(relative_error({}, 1, {}, 0, 1) == 0);
}

TEST_CASE("an element that is not finite on one side only makes the error infinite") {
  const auto error = [](double y, double r) {
    return relative_error(std::vector<float>{static_cast<float>(y), 1}, 2, std::vector<double>{r, 1}, 1, 2);
  };
  CHECK(error(nan_value, 1) == infinity);
  CHECK(error(1, nan_value) == infinity);
  CHECK(error(infinity, 1) == infinity);
  CHECK(error(infinity, -infinity) == infinity);
  CHECK(error(nan_value, infinity) == infinity);
  CHECK(error(nan_value, nan_value) == 0);
  CHECK(error(-infinity, -infinity) == 0);
  CHECK(error(infinity, 1e300) == 0);  // too large for fp32: infinity is the right rounding
}

TEST_CASE("an output of a narrower type is compared as that type stores it") {
  const auto error = [](double y, double r, Dtype type) {
    return relative_error(std::vector<float>{static_cast<float>(y), 1}, 2, std::vector<double>{r, 1}, 1, 2, type);
  };
  CHECK(error(infinity, 70000, Dtype::f16) == 0);
  CHECK(error(infinity, 70000, Dtype::bf16) == infinity);
  CHECK(error(0, 0x1p-26, Dtype::f16) == 0);  // below half the smallest value
  CHECK(error(0, 0x1p-26, Dtype::f32) > 0);
}

TEST_CASE("the tolerance grows with the square root of the longest sum, and holds one rounding of a narrower output") {
  CHECK(sum_tolerance(0) == 1e-7);
  CHECK(sum_tolerance(100) == doctest::Approx(5e-7).epsilon(1e-12));
  CHECK(sum_tolerance(100, Dtype::f16) == doctest::Approx(5e-7 + 0x1p-11).epsilon(1e-12));
  CHECK(sum_tolerance(100, Dtype::bf16) == doctest::Approx(5e-7 + 0x1p-8).epsilon(1e-12));
  CHECK(product_tolerance(100, Dtype::f32, Math::accurate, Dtype::f32) == sum_tolerance(100));
  CHECK(product_tolerance(100, Dtype::f32, Math::tf32, Dtype::f32) == doctest::Approx(5e-7 + 0x1p-10).epsilon(1e-12));
  CHECK(product_tolerance(100, Dtype::f16, Math::tf32, Dtype::f32) == sum_tolerance(100));
}
