// fused_wgmma of f32 in two terms compiles for sm_90a with few spills, and wgmma is not serialised: with 128-wide
// values its kernels have no register to spare (bench/notes/attention_in_f32.md#forward), so that the sweep, which
// allows no spills, has no such problem.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "compile/nvrtc.hpp"
#include "compile/sweep_jobs.hpp"
#include "compile/sweep_queries.hpp"
#include "ops/attention/problem.hpp"
#include "ops/families.hpp"

using namespace vostok;

namespace {

/// The best config of each shape: one warpgroup or two, blocks that go or stay.
void add_shapes(test::Jobs& jobs, const SparseAttention& problem) {
  const auto family = ops::make_fused_wgmma();
  const auto query = ops::make_query(problem, test::attention_mask, nullptr);
  REQUIRE(!family->declines(*query));
  for (const ops::Config& config : family->short_list(*query)) jobs.add(*family, *query, config, "sm_90", true);
}

}  // namespace

TEST_CASE("attention of f32 with wide values compiles for sm_90a with few spills, with biases and without") {
  const auto nvrtc = test::nvrtc_for("compiling attention of f32");
  if (!nvrtc) return;
  test::Jobs jobs;
  for (const bool biased : {false, true}) add_shapes(jobs, {.n = 128, .batch = 8, .biased = biased});
  std::int64_t most = 0;
  test::compile_jobs(*nvrtc, jobs.list(), 2, [&](const test::Job& job, const test::Outcome& outcome) {
    const auto& [image, failure, seconds] = outcome;
    CHECK_MESSAGE(failure.empty(), job.request.expression, ": ", failure);
    constexpr std::int64_t allowed = 360;  // stores and loads, most of them outside the loop: two warpgroups that stay
    CHECK_MESSAGE(image.spill_bytes <= allowed, image.spill_bytes, " bytes, ", job.request.expression);
    CHECK_MESSAGE(image.warnings.empty(), job.request.expression, ": ",
                  image.warnings.empty() ? "" : image.warnings.front());
    most = std::max(most, image.spill_bytes);
    return true;
  });
  CHECK(jobs.list().size() >= 8);
  std::printf("%zu kernels of attention of f32, the most spills %lld bytes\n", jobs.list().size(),
              static_cast<long long>(most));
}
