#include <doctest/doctest.h>

#include "ops/attention/problem.hpp"
#include "ops/families.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/ops/config_lists.hpp"

using namespace vostok;

namespace {

/// Causal, a band of 256, and 5 % of what is beyond it.
const TopologyStatistics sparse_transformer{.rows = 12'288,
                                            .cols = 12'288,
                                            .nonzeros = 6'700'000,
                                            .longest_row = 900,
                                            .mean_row = 545,
                                            .row_variation = 0.4,
                                            .run_share = 0.47};

SparseAttention of_f32(std::int64_t size) { return {.n = size, .batch = 8, .element = Dtype::f32}; }

SparseAttention biased(SparseAttention problem) {
  problem.biased = true;
  return problem;
}

}  // namespace

TEST_CASE("fused_wgmma takes biased f32 as it takes f32") {
  const auto wgmma = ops::make_fused_wgmma();
  test::FakeDevice hopper;
  for (const Math math : {Math::accurate, Math::tf32})
    for (const std::int64_t size : {16, 64, 80, 96, 128}) {
      CAPTURE(size);
      CAPTURE(std::string(name(math)));
      SparseAttention problem = biased(of_f32(size));
      problem.math = math;
      test::check_short_list(*wgmma, *ops::make_query(problem, sparse_transformer, &hopper), 16);
    }
}

TEST_CASE("fused_wgmma is expected to be faster than fused_mma where wide values of two terms are biased") {
  const auto wgmma = ops::make_fused_wgmma(), mma = ops::make_fused_mma();
  test::FakeDevice hopper;
  for (const std::int64_t size : {80, 96, 128}) {
    CAPTURE(size);
    const auto query = ops::make_query(biased(of_f32(size)), sparse_transformer, &hopper);
    CHECK(wgmma->predict_us(*query, wgmma->default_config(*query)) <
          mma->predict_us(*query, mma->default_config(*query)));
  }
}

TEST_CASE("fused_wgmma declines f32 whose sums have no registers, with biases and without") {
  const auto wgmma = ops::make_fused_wgmma();
  test::FakeDevice hopper;
  for (const SparseAttention& problem : {of_f32(144), biased(of_f32(144))})
    CHECK(wgmma->declines(*ops::make_query(problem, sparse_transformer, &hopper)));
}
