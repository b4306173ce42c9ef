// Kernels that certify their sums compile without spills in their loops: of each family the cost model's best configs,
// of which the sweep takes only samples. NVRTC alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "compile/nvrtc.hpp"
#include "compile/sweep_jobs.hpp"
#include "ops/families.hpp"
#include "ops/sddmm/tensor_sample.hpp"
#include "ops/sddmm/wgmma_sample.hpp"
#include "ops/spmm/unpack_mma.hpp"
#include "ops/spmm/unpack_wgmma.hpp"

using namespace vostok;

namespace {

/// The best that the cost model finds of each kind, for each problem.
void add_certified(test::Jobs& jobs, const ops::Family& family, const std::string& operation,
                   const std::string& architecture, std::size_t most) {
  for (const test::Space& space : test::spaces_of(family, test::sweep_queries().at(operation)())) {
    std::vector<ops::Config> configs = family.short_list(*space.query);
    configs.resize(std::min(configs.size(), most));
    for (const ops::Config& config : configs) {
      if (family.forbidden(*space.query, config)) continue;  // 16-bit elements
      jobs.add(family, *space.query, config, architecture, true);
    }
  }
}

}  // namespace

TEST_CASE("kernels that certify sums compile without spills in their loops, for sm_80 and sm_90") {
  const auto nvrtc = test::nvrtc_for("compiling certificates");
  if (!nvrtc) return;
  test::Jobs jobs;
  add_certified(jobs, *ops::make_tensor_sample(), "sddmm", "sm_80", 4);
  add_certified(jobs, *ops::make_tensor_sample(), "sddmm", "sm_90", 4);
  add_certified(jobs, *ops::make_wgmma_sample(), "sddmm", "sm_90", 4);
  add_certified(jobs, *ops::make_unpack_mma(), "spmm", "sm_80", 2);
  add_certified(jobs, *ops::make_unpack_wgmma(), "spmm", "sm_90", 2);
  add_certified(jobs, *ops::make_sparse_tensor_mma(), "spmm", "sm_90", 2);
  add_certified(jobs, *ops::make_sparse_tensor_wgmma(), "spmm", "sm_90", 2);
  int compiled = 0;
  test::compile_jobs(*nvrtc, jobs.list(), 2, [&](const test::Job& job, const test::Outcome& outcome) {
    const auto& [image, failure, seconds] = outcome;
    CHECK_MESSAGE(failure.empty(), job.request.expression, ": ", failure);
    constexpr int most_spills = 112;  // stores and loads: a config of two blocks on a multiprocessor
                                      // sets seven registers aside, over its loop
    CHECK_MESSAGE(image.spill_bytes <= most_spills, job.architecture, ": ", image.spill_bytes, " bytes, ",
                  job.request.expression);
    CHECK_MESSAGE(image.warnings.empty(), job.request.expression, ": ",
                  image.warnings.empty() ? "" : image.warnings.front());
    ++compiled;
    return true;
  });
  std::printf("%d kernels that certify sums\n", compiled);
  CHECK(compiled >= 20);
}
