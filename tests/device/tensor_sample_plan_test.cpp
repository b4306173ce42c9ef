// tensor_sample through plans: chosen for dense masks, recorded, rebound to
// other masks, and left where a mask is not sorted.
#include <doctest/doctest.h>

#include <algorithm>

#include "device/devices.hpp"
#include "device/kernel_devices.hpp"
#include "tune/sddmm_case.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 20403;
constexpr std::int64_t rows = 256, cols = 200;
constexpr Sddmm problem{.n = 1024, .math = Math::tf32};

/// Whether a plan's executes give what they should for a mask, recorded and
/// not.
void check_plan(const Context &context, const SddmmPlan &plan, const sparse::Csr &mask) {
  device::Device &device = test::device_of(context);
  tune::SddmmCase c(device, problem, mask, seed);
  const Workspace workspace = plan.make_workspace();
  c.set_workspace(workspace);
  CHECK(c.verify([&](Stream stream) { plan.execute(stream, c.call()); }).wrong == "");
  const auto recorded = device.record([&](Stream stream) {
    for (int i = 0; i < 2; ++i) plan.execute(stream, c.call());
  });
  CHECK(c.verify(test::replaying(device, *recorded)).wrong == "");
}

/// The same structure with every row from its last column to its first.
sparse::Csr reversed(sparse::Csr mask) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(mask.rows); ++row)
    std::reverse(mask.column_indices.begin() + mask.row_offsets[row],
                 mask.column_indices.begin() + mask.row_offsets[row + 1]);
  return mask;
}

}  // namespace

TEST_CASE(
    "tensor_sample, or its sibling for Hopper, is planned for a dense mask, rebound to another "
    "without compiling, and not for one that is not sorted") {
  const sparse::Csr mask = sparse::uniform(rows, cols, 0.2, seed);
  const sparse::Csr regrown = sparse::uniform(rows, cols, 0.2, seed + 1);
  for (const std::string &name : test::device_names()) {
    CAPTURE(name);
    const Context context = test::memory_context(name);
    const SddmmPlan plan = context.plan(problem, context.topology(mask.view()), {.effort = Effort::heuristic});
    REQUIRE(plan.family() != "row_strips");
    check_plan(context, plan, mask);
    if (test::thread_sanitized) continue;

    const std::int64_t compiled = context.counters().kernels_compiled;
    const Topology next = context.topology(regrown.view());
    const SddmmPlan rebound = plan.rebind(next);
    const std::int64_t of_lists = next.device_bytes();
    CHECK(rebound.family() == plan.family());
    check_plan(context, rebound, regrown);
    CHECK(context.counters().kernels_compiled == compiled);
    CHECK(next.device_bytes() == of_lists);

    // Of the same features in every number that a memo or a tuning store keeps.
    const sparse::Csr unsorted = reversed(mask);
    const Topology topology = context.topology(unsorted.view());
    for (const SddmmPlan &other :
         {context.plan(problem, topology, {.effort = Effort::heuristic}), plan.rebind(topology)}) {
      CHECK(other.family() == "row_strips");
      check_plan(context, other, unsorted);
    }
  }
}
