// Attention of heads wider than 128, of every type and with every feature: both passes without scores in memory.
#include <doctest/doctest.h>

#include "device/attention_plans.hpp"
#include "device/config_walk.hpp"

using namespace vostok;

namespace {

SparseAttention random_wide_attention(sparse::Random& random) {
  SparseAttention problem{.n = test::pick<std::int64_t>(random, {136, 160, 176, 200, 256}),
                          .value_size = test::pick<std::int64_t>(random, {0, 40, 144, 256}),
                          .batch = test::pick<std::int64_t>(random, {1, 2}),
                          .element = test::pick(random, {Dtype::f16, Dtype::bf16, Dtype::f32}),
                          .math = test::pick(random, {Math::accurate, Math::tf32}),
                          .saved = test::pick(random, {Saved::none, Saved::row_statistics})};
  if (random.below(2) == 0) {
    problem.key_heads = problem.batch;
    problem.batch *= 2;
  }
  test::set_features(problem, random.below(16));
  return random.below(2) == 0 ? test::interleaved(problem) : problem;
}

}  // namespace

TEST_CASE("wide heads of attention: both passes in one kernel each, plain and with every feature") {
  constexpr std::uint64_t seed = 4531;
  MESSAGE("seed " << seed);
  test::on_every_device([&](const Context& context) {
    sparse::Random random(seed);
    for (int i = 0; i < (test::thread_sanitized ? 1 : 12); ++i) {
      const SparseAttention problem = random_wide_attention(random);
      const auto rows = test::pick<std::int64_t>(random, {16, 70, 150}),
                 cols = test::pick<std::int64_t>(random, {64, 130, 333});
      const sparse::Csr mask = test::uneven_mask(rows, cols, random.bits());
      INFO("n " << problem.n << ", value_size " << problem.value_size << ", " << std::string(name(problem.math))
                << ", batch " << problem.batch << ", key_heads " << problem.key_heads << ", capped " << problem.capped
                << ", causal " << problem.causal << ", biased " << problem.biased << ", dropped " << problem.dropped
                << ", " << mask.rows << " x " << mask.cols);
      test::check_both(context, problem, mask, {.family = "fused_mma"}, {.family = "fused_backward"});
    }
  });
}
