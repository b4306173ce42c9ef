// The tuner's second input: operands of many decades, on which a kernel that loses small numbers gives itself away.
#include "tune/wide_operands.hpp"

#include <doctest/doctest.h>

#include "contains.hpp"
#include "context_state.hpp"
#include "device/devices.hpp"
#include "device/kernel_devices.hpp"
#include "plan/make_plan.hpp"
#include "sparse/generate.hpp"
#include "tune/sddmm_case.hpp"
#include "tune/spmm_case.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 1927;

const sparse::Csr& matrix() {
  static const sparse::Csr csr = sparse::uniform(96, 256, 0.7, seed);
  return csr;
}

/// What a family makes of the operands, whose kernels certify their sums or do not.
template <class CaseOf, class Problem>
tune::Check verified(const Context& context, CaseOf& operands, Problem problem, const char* family,
                     NonFinite nonfinite) {
  problem.nonfinite = nonfinite;  // not through Context::plan, to which both mean the same
  const Plan<Problem> plan(plan::make_plan(*context.state()->planner, problem, context.topology(matrix().view()),
                                           {.effort = Effort::heuristic, .family = family}));
  const Workspace workspace = plan.make_workspace();
  operands.set_workspace(workspace);
  return operands.verify([&](Stream stream) { plan.execute(stream, operands.call()); });
}

template <class CaseOf, class Problem>
void check_told_apart(const Context& context, const Problem& problem, const char* family) {
  CaseOf operands(device_of(context), problem, matrix(), seed);
  CHECK(verified(context, operands, problem, family, NonFinite::dense).wrong.empty());
  REQUIRE(operands.widen(true));
  CHECK(verified(context, operands, problem, family, NonFinite::sparse).error < tune::wide_tolerance / 64);
  const tune::Check trusted = verified(context, operands, problem, family, NonFinite::dense);
  CHECK(trusted.error > tune::wide_tolerance);
  REQUIRE(operands.widen(false));
  CHECK(verified(context, operands, problem, family, NonFinite::dense).wrong.empty());
}

}  // namespace

TEST_CASE("operands of many decades tell kernels that lose small numbers from those that keep them") {
  if (thread_sanitized) {
    MESSAGE("skipped: these kernels take ThreadSanitizer minutes, their families' own tests look for races");
    return;
  }
  on_every_device([](const Context& context) {
    for (const Layout layout : {Layout::row_major, Layout::column_major}) {
      check_told_apart<tune::SpmmCase>(context, Spmm{.n = 40, .dense_layout = layout}, "unpack_mma");
      check_told_apart<tune::SddmmCase>(context, Sddmm{.n = 130, .lhs_layout = layout}, "tensor_sample");
    }
    const Spmm transposed{.n = 24, .batch = 2, .values_per_batch = true, .sparse_transposed = true};
    check_told_apart<tune::SpmmCase>(context, transposed, "unpack_mma");
  });
}

TEST_CASE("the tuner takes kernels that keep small numbers, whether values are packed once or at every call") {
  if (thread_sanitized) {
    MESSAGE("skipped: these kernels take ThreadSanitizer minutes, their families' own tests look for races");
    return;
  }
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(matrix().view());
    for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call}) {
      const SpmmPlan plan = context.plan(Spmm{.n = 16, .value_lifetime = lifetime}, topology,
                                         {.effort = Effort::quick, .budget_seconds = 2, .family = "unpack_mma"});
      for (const Trial& trial : plan.explain(Detail::trials).trials)
        CHECK_MESSAGE(!contains(trial.rejected, "decades"), trial.rejected);
    }
  });
}

TEST_CASE("problems that promise nothing for operands of many decades keep those that they have") {
  const Context context = memory_context("emulator");
  CHECK_FALSE(tune::SpmmCase(device_of(context), {.n = 8, .element = Dtype::f16}, matrix(), seed).widen(true));
  CHECK_FALSE(tune::SpmmCase(device_of(context), {.n = 8, .nonfinite = NonFinite::dense}, matrix(), seed).widen(true));
  CHECK_FALSE(tune::SddmmCase(device_of(context), {.n = 8, .element = Dtype::bf16}, matrix(), seed).widen(true));
}
