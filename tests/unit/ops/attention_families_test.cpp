#include <doctest/doctest.h>

#include <algorithm>

#include "ops/attention/fused.hpp"
#include "ops/attention/problem.hpp"
#include "ops/families.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/ops/config_lists.hpp"
#include "unit/ops/paper_mask.hpp"

using namespace vostok;

namespace {

/// Of the keys, for each query at random.
const TopologyStatistics half_of_all{
    .rows = 4096, .cols = 4096, .nonzeros = 1 << 23, .longest_row = 2200, .mean_row = 2048};

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
      test::check_short_list(*wgmma, *ops::make_query(problem, test::sparse_transformer, &hopper), 16);
    }
}

TEST_CASE("fused_wgmma is expected to be faster than fused_mma where wide values of two terms are biased") {
  const auto wgmma = ops::make_fused_wgmma(), mma = ops::make_fused_mma();
  test::FakeDevice hopper;
  for (const std::int64_t size : {80, 96, 128}) {
    CAPTURE(size);
    const auto query = ops::make_query(biased(of_f32(size)), test::sparse_transformer, &hopper);
    CHECK(wgmma->predict_us(*query, wgmma->default_config(*query)) <
          mma->predict_us(*query, mma->default_config(*query)));
  }
}

TEST_CASE("fused_wgmma is expected to skip tiles where L2 limits blocks of 64 queries, and products those of 192") {
  const auto wgmma = ops::make_fused_wgmma();
  test::FakeDevice hopper;
  const auto chosen = [&](double zeros, std::int64_t size) {
    constexpr std::int64_t tokens = 12288;
    const double mean = (1 - zeros) * tokens;
    const auto longest = static_cast<std::int64_t>(mean) + 1;
    const TopologyStatistics mask{.rows = tokens,
                                  .cols = tokens,
                                  .nonzeros = static_cast<std::int64_t>(mean * tokens),
                                  .longest_row = longest,
                                  .mean_row = mean};
    const SparseAttention problem{.n = size, .batch = 8, .element = Dtype::bf16};
    return wgmma->default_config(*ops::make_query(problem, mask, &hopper)).to_map();
  };
  for (const double zeros : {0.98, 0.99}) {
    CHECK(chosen(zeros, 128).at("skips_tiles") == "true");
    CHECK(chosen(zeros, 128).at("groups") == "3");
    CHECK(chosen(zeros, 64).at("step_tiles") == "2");
  }
  CHECK(chosen(0.995, 128).at("groups") == "1");
  CHECK(chosen(0.995, 128).at("values_apart") == "true");
}

TEST_CASE("fused_wgmma skips no tiles where a query meets its keys in order: with biases, and causal") {
  const auto wgmma = ops::make_fused_wgmma();
  test::FakeDevice hopper;
  SparseAttention problem{.n = 64, .batch = 8, .element = Dtype::bf16};
  const auto skipping = [&](const SparseAttention& of) {
    const auto query = ops::make_query(of, test::sparse_transformer, &hopper);
    const std::vector<ops::Config> space = wgmma->space(*query);
    return std::any_of(space.begin(), space.end(), [&](const ops::Config& config) {
      return config.to_map().at("skips_tiles") == "true" && !wgmma->forbidden(*query, config);
    });
  };
  CHECK(skipping(problem));
  CHECK_FALSE(skipping(biased(problem)));
  problem.causal = true;
  CHECK_FALSE(skipping(problem));
}

TEST_CASE("fused_wgmma declines f32 whose sums have no registers, with biases and without") {
  const auto wgmma = ops::make_fused_wgmma();
  test::FakeDevice hopper;
  for (const SparseAttention& problem : {of_f32(144), biased(of_f32(144))})
    CHECK(wgmma->declines(*ops::make_query(problem, test::sparse_transformer, &hopper)));
}

TEST_CASE("fused_backward_pair takes lines of f32 of up to 128 elements, and nothing else") {
  const auto pair = ops::make_fused_backward_pair(), mma = ops::make_fused_backward();
  test::FakeDevice hopper;
  const auto query = [&](const SparseAttention& problem) {
    return ops::make_query(SparseAttentionBackward{problem}, test::sparse_transformer, &hopper);
  };
  for (const Math math : {Math::accurate, Math::tf32})
    for (const std::int64_t size : {16, 64, 80, 128}) {
      CAPTURE(size);
      CAPTURE(std::string(name(math)));
      SparseAttention problem = of_f32(size);
      problem.math = math;
      problem.saved = Saved::row_statistics;
      test::check_short_list(*pair, *query(problem), 4);
      const auto of = query(problem);
      if (size >= 64)
        CHECK(pair->predict_us(*of, pair->default_config(*of)) < mma->predict_us(*of, mma->default_config(*of)));
    }
  CHECK(pair->declines(*query(of_f32(144))));
  CHECK(pair->declines(*query({.n = 64, .batch = 8, .element = Dtype::bf16})));
}

TEST_CASE("wide heads of any type, with any feature, have both passes without scores in memory") {
  const auto forward = ops::make_fused_mma(), backward = ops::make_fused_backward();
  test::FakeDevice hopper;
  for (const Dtype element : {Dtype::f16, Dtype::bf16, Dtype::f32})
    for (const Math math : {Math::accurate, Math::tf32})
      for (const std::int64_t size : {129, 160, 176, 200, 256})
        for (const bool every_feature : {false, true}) {
          CAPTURE(std::string(name(element)));
          CAPTURE(std::string(name(math)));
          CAPTURE(size);
          CAPTURE(every_feature);
          SparseAttention problem{.n = size, .value_size = 256, .batch = 8, .element = element, .math = math};
          problem.query_leading = problem.key_leading = 256;
          problem.capped = problem.causal = problem.biased = problem.dropped = every_feature;
          const auto forward_query = ops::make_query(problem, test::sparse_transformer, &hopper);
          CHECK_MESSAGE(!forward->declines(*forward_query), *forward->declines(*forward_query));
          const auto query = ops::make_query(SparseAttentionBackward{problem}, test::sparse_transformer, &hopper);
          CHECK_MESSAGE(!backward->declines(*query), *backward->declines(*query));
        }
}

TEST_CASE("causal queries are expected to walk what they see of the mask") {
  const SparseAttention plain{.n = 64};
  const SparseAttention causal{.n = 64, .causal = true};
  const auto share = [](const SparseAttention& problem, std::int64_t rows, std::int64_t cols) {
    return ops::fused_attention::seen_share(problem, {.rows = rows, .cols = cols});
  };
  CHECK(share(plain, 4096, 4096) == 1);
  CHECK(share(causal, 4096, 4096) == 0.5);
  CHECK(share(causal, 1, 100'000) > 0.999);  // a query behind all keys
  CHECK(share(causal, 4096, 1024) == doctest::Approx(0.125));
  CHECK(share(causal, 0, 0) == 1);
  CHECK(ops::fused_attention::expected_tiles(half_of_all, 128, 1) == 64);
  CHECK(ops::fused_attention::expected_tiles(half_of_all, 128, 0.5) == 32);
  TopologyStatistics causal_by_itself = half_of_all;
  causal_by_itself.span_share = 0.5;
  for (const double seen : {1.0, 0.5}) CHECK(ops::fused_attention::expected_tiles(causal_by_itself, 128, seen) == 32);

  const auto wgmma = ops::make_fused_wgmma(), backward = ops::make_fused_backward_wgmma();
  const auto predicted = [](const ops::Family& family, const auto& problem) {
    const auto query = ops::make_query(problem, half_of_all, nullptr);
    return family.predict_us(*query, family.default_config(*query));
  };
  const SparseAttention problem{.n = 64, .batch = 8, .element = Dtype::bf16};
  SparseAttention behind = problem;
  behind.causal = true;
  CHECK(predicted(*wgmma, behind) < 0.7 * predicted(*wgmma, problem));
  CHECK(predicted(*backward, SparseAttentionBackward{behind}) <
        0.7 * predicted(*backward, SparseAttentionBackward{problem}));
}
