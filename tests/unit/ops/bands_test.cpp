// Masks with a dense band against masks whose nonzeros lie at random, for cost models. What was measured:
// bench/notes/softmax_and_attention.md#masks-with-a-band.
#include <doctest/doctest.h>

#include <cmath>
#include <string_view>

#include "ops/family.hpp"
#include "ops/sddmm/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/ops/paper_mask.hpp"

using namespace vostok;

namespace {

/// Attention of 12288 tokens, 98 % zeros beyond a band of 256: 4.6 million nonzeros, 61 % of which end a run.
TopologyStatistics attention(double run_share) {
  return {.rows = 12288,
          .cols = 12288,
          .nonzeros = 4'560'033,
          .longest_row = 500,
          .mean_row = 371,
          .row_variation = 0.14,
          .run_share = run_share};
}
constexpr double band = 0.61;

/// What the cost model of a family of SDDMM expects of its default.
double sampled_us(std::string_view family_name, double run_share, Dtype element) {
  const auto query = ops::make_query(Sddmm{.n = 64, .element = element}, attention(run_share), {64, 64}, nullptr);
  const ops::Family& family = *ops::find_family("sddmm", family_name);
  return family.predict_us(*query, family.default_config(*query));
}

}  // namespace

TEST_CASE("a band costs the families that sample tiles, and not the one that walks rows") {
  for (const Dtype element : {Dtype::f32, Dtype::f16}) {
    for (const char* family : {"wgmma_sample", "tensor_sample"})
      CHECK(sampled_us(family, band, element) > 1.1 * sampled_us(family, 0, element));
    CHECK(sampled_us("row_strips", band, element) == sampled_us("row_strips", 0, element));
  }
}

TEST_CASE("a causal band mask of f32 is expected to be fastest by tensor_sample, as was measured") {
  // bench/notes/softmax_and_attention.md#causal-masks
  test::FakeDevice hopper;
  hopper.be_a_gpu();
  const auto expected_us = [&](std::string_view name, const Sddmm& problem) {
    const auto query = ops::make_query(problem, test::sparse_transformer, {problem.n, problem.n}, &hopper);
    const ops::Family& family = *ops::find_family("sddmm", name);
    return family.predict_us(*query, family.default_config(*query));
  };
  for (const Math math : {Math::accurate, Math::tf32})
    for (const std::int64_t n : {64, 128}) {
      const Sddmm problem{.n = n, .batch = 4, .math = math};
      CAPTURE(n);
      CHECK(expected_us("tensor_sample", problem) < expected_us("row_strips", problem));
      CHECK(expected_us("tensor_sample", problem) < expected_us("wgmma_sample", problem));
    }
}

TEST_CASE(
    "left-overs of a band make strips of fours slower, and nothing is added where a dense mask has runs by chance") {
  const auto product_us = [](const TopologyStatistics& statistics, PackedGrain grain) {
    const Spmm problem{.n = 64, .value_lifetime = ValueLifetime::persistent};
    const auto query = ops::make_query(problem, statistics, {64, 64}, nullptr);
    return ops::unpack_wgmma::predict_us(*query, {.grain = grain, .strip_pairs = packed_most(grain)});
  };
  CHECK(product_us(attention(band), PackedGrain::four) > 1.5 * product_us(attention(0), PackedGrain::four));
  CHECK(product_us(attention(band), PackedGrain::pair) < 1.1 * product_us(attention(0), PackedGrain::pair));
  TopologyStatistics dense{.rows = 2048, .cols = 2048, .nonzeros = 3'984'589, .longest_row = 1990, .mean_row = 1945.6};
  const double without = product_us(dense, PackedGrain::pair);
  dense.run_share = std::pow(0.95, 31);
  CHECK(product_us(dense, PackedGrain::pair) == doctest::Approx(without).epsilon(1e-6));
}

TEST_CASE("at random tensor cores sample a mask of 97 % zeros faster, with a band rows do") {
  CHECK(sampled_us("wgmma_sample", 0, Dtype::f32) < sampled_us("row_strips", 0, Dtype::f32));
  CHECK(sampled_us("row_strips", band, Dtype::f32) < sampled_us("wgmma_sample", band, Dtype::f32));
  CHECK(sampled_us("row_strips", band, Dtype::f32) < sampled_us("tensor_sample", band, Dtype::f32));
}
