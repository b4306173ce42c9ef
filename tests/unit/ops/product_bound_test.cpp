#include "ops/product_bound.hpp"

#include <doctest/doctest.h>

#include "ops/machine.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/softmax/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;

namespace {

/// 80 % zeros, and a GPU as an H200 says it is.
struct Products {
  test::FakeDevice device;
  TopologyStatistics statistics{.rows = 512, .cols = 256, .nonzeros = 26214};

  Products() { device.be_a_gpu(); }
  std::optional<ops::ProductBound> spmm(const Spmm& problem) const {
    return ops::product_bound(*ops::make_query(problem, statistics, {problem.n, problem.n}, &device));
  }
  std::optional<ops::ProductBound> sddmm(const Sddmm& problem) const {
    return ops::product_bound(*ops::make_query(problem, statistics, {problem.n, problem.n}, &device));
  }
};

}  // namespace

TEST_CASE("a wide product in 16 bits is bound by memory, and in f32 by the arithmetic that the problem asks for") {
  const Products products;
  const double speed =
      ops::machine_of(*ops::make_query(Spmm{.n = 8}, products.statistics, {8, 8}, &products.device)).speed();
  const Spmm half{.n = 200704, .element = Dtype::f16};
  const auto wide = products.spmm(half);
  REQUIRE(wide.has_value());
  CHECK(wide->memory_us == doctest::Approx((26214. * 4 + 200704. * (512 + 256) * 2) / 4.2e6).epsilon(0.01));
  CHECK(wide->dense_us == doctest::Approx(2. * 512 * 256 * 200704 / 800e6 / speed));
  CHECK(wide->us() == wide->memory_us);
  const auto dense_us = [&](Math math) { return products.spmm({.n = 1024, .math = math})->dense_us; };
  CHECK(dense_us(Math::accurate) == doctest::Approx(3 * 2. * 512 * 256 * 1024 / 800e6 / speed));
  CHECK(dense_us(Math::strict) > 5 * dense_us(Math::accurate));
  CHECK(dense_us(Math::tf32) < dense_us(Math::accurate));
}

TEST_CASE("what is read beside the product, and batches, count into the bound") {
  const Products products;
  const double plain = products.spmm({.n = 1024})->memory_us;
  const double output_us = 512. * 1024 * 4 / 4.2e6;
  CHECK(products.spmm({.n = 1024, .epilogue = {.residual = true}})->memory_us ==
        doctest::Approx(plain + output_us).epsilon(0.01));
  CHECK(products.spmm({.n = 1024, .epilogue = {.accumulate = true}})->memory_us ==
        doctest::Approx(plain + output_us).epsilon(0.01));
  const auto batch = products.spmm({.n = 1024, .batch = 8});
  CHECK(batch->memory_us > 7 * plain);
  CHECK(batch->dense_us == doctest::Approx(8 * products.spmm({.n = 1024})->dense_us));
  const auto sampled = products.sddmm({.n = 4096, .element = Dtype::f16});
  REQUIRE(sampled.has_value());
  CHECK(sampled->memory_us == doctest::Approx((26214. * 4 + 4096. * (512 + 256) * 2) / 4.2e6).epsilon(0.01));
}

TEST_CASE("a bound is exceeded by more than twice itself and a small launch") {
  const ops::ProductBound bound{.memory_us = 72, .dense_us = 103};
  CHECK_FALSE(bound.exceeded_by(211));
  CHECK(bound.exceeded_by(213));
  CHECK_FALSE(ops::ProductBound{.memory_us = 0.1, .dense_us = 0.1}.exceeded_by(6));
}

TEST_CASE("there is no bound of other operations, nor on devices whose dense products were not measured") {
  Products products;
  CHECK_FALSE(ops::product_bound(*ops::make_query(Softmax{}, products.statistics, {}, &products.device)).has_value());
  CHECK_FALSE(ops::product_bound(*ops::make_query(Spmm{.n = 8}, products.statistics, {8, 8}, nullptr)).has_value());
  const test::FakeDevice emulated;
  CHECK_FALSE(ops::has_product_bounds(emulated));
  CHECK_FALSE(ops::product_bound(*ops::make_query(Spmm{.n = 8}, products.statistics, {8, 8}, &emulated)).has_value());
}
