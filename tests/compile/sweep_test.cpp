// Every family's configs compile for the architectures that they may run on. NVRTC alone: no GPU and no driver. The
// defaults for two architectures and shares of them for the others, and a seeded share of the space;
// bench_compile_sweep takes all of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>

#include "compile/nvrtc.hpp"
#include "compile/sweep_jobs.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 20202;

test::Jobs make_jobs(const device::Compiler& nvrtc, std::string_view operation) {
  test::Jobs jobs;
  for (const auto& family : ops::families(operation)) {
    const std::vector<test::Space> spaces = test::spaces_of(*family, test::sweep_queries().at(operation)());
    std::size_t others = 0;
    std::uint64_t samples = 0;
    for (const std::string& architecture : device::nvrtc_architectures(nvrtc)) {
      if (!family->runs_on(architecture)) continue;
      const bool main_target = architecture == "sm_80" || architecture == "sm_90";
      // Of the other architectures each takes another share of the defaults, so that together they have everything.
      constexpr std::size_t shares = 8;
      if (main_target) jobs.add_defaults(*family, spaces, architecture);
      else jobs.add_defaults(*family, spaces, architecture, shares, others++ % shares);
      jobs.add_sample(*family, spaces, architecture, main_target ? 4 : 1,
                      seed + samples++);  // of each architecture other ones
    }
  }
  return jobs;
}

struct Tally {
  int failed = 0;
  int spilling_defaults = 0;
  int spilling = 0;
  std::string first_failure;
  std::string first_spilling_default;
  int slow_defaults = 0;  ///< of which ptxas says that they are serialised, or ignore an instruction
  std::string first_slow_default;

  void note(const test::Job& job, const test::Outcome& outcome) {
    const auto& [image, failure, seconds] = outcome;
    if (!failure.empty() && failed++ == 0) first_failure = job.architecture + ": " + failure;
    if (image.spill_bytes > 0) ++spilling;
    if (image.spill_bytes > 0 && job.is_default && spilling_defaults++ == 0)
      first_spilling_default = job.architecture + ": " + job.request.expression;
    if (!image.warnings.empty() && job.is_default && slow_defaults++ == 0)
      first_slow_default = job.architecture + ": " + image.warnings.front();
  }
};

Tally compile_all(const device::Compiler& nvrtc, const std::vector<test::Job>& jobs) {
  Tally tally;
  test::compile_jobs(nvrtc, jobs, 2, [&](const test::Job& job, const test::Outcome& outcome) {
    tally.note(job, outcome);
    return true;
  });
  return tally;
}

}  // namespace

TEST_CASE("every operation has problems to compile for, and each of its families takes one of them") {
  for (const std::string_view operation : ops::operations()) {
    INFO("operation ", std::string(operation));
    REQUIRE(test::sweep_queries().contains(operation));
    const test::SweepQueries queries = test::sweep_queries().at(operation)();
    for (const auto& family : ops::families(operation))
      CHECK_MESSAGE(
          std::any_of(queries.begin(), queries.end(), [&](const auto& query) { return !family->declines(*query); }),
          family->name());
  }
}

TEST_CASE(
    "default configs compile without spills, all for sm_80 and sm_90, a share for each other, and configs of the space "
    "compile") {
  const auto nvrtc = test::nvrtc_for("compile sweep");
  if (!nvrtc) return;
  for (const auto& [operation, queries] : test::sweep_queries()) {
    const test::Jobs jobs = make_jobs(*nvrtc, operation);
    const Tally tally = compile_all(*nvrtc, jobs.list());
    std::printf("compile sweep, %s: %zu kernels for %zu architectures, seed %llu; %d spill\n",
                std::string(operation).c_str(), jobs.list().size(), device::nvrtc_architectures(*nvrtc).size(),
                static_cast<unsigned long long>(seed), tally.spilling);
    CHECK(jobs.list().size() >= 20);
    CHECK_MESSAGE(tally.failed == 0, tally.first_failure);
    CHECK_MESSAGE(tally.spilling_defaults == 0, tally.first_spilling_default);
    CHECK_MESSAGE(tally.slow_defaults == 0, tally.first_slow_default);
  }
}
