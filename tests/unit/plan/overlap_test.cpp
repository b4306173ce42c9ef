// Which launches of a plan may start while the one before still runs, and that every kernel which may waits by itself.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "codegen/source.hpp"
#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

/// For each launch of one call whether it may.
std::vector<bool> overlaps(bool overlap_calls) {
  test::Fixture fixture;
  const auto session = fixture.session();
  const auto planner = std::make_shared<plan::Planner>(session);
  const Topology topology = test::Fixture::topology(session, sparse::uniform(200, 300, 0.5, 7));
  const Spmm problem{.n = 64, .value_lifetime = ValueLifetime::per_call};
  const SpmmPlan plan(plan::make_plan(*planner, problem, topology, {.family = "unpack_mma", .overlap_calls = overlap_calls}));
  std::vector<bool> list;
  fixture.device->on_shape = [&](const device::LaunchShape& shape) { list.push_back(shape.waits_for_previous); };
  alignas(256) static float memory[64];
  const Workspace workspace = plan.make_workspace();
  plan.execute(nullptr, {.values = memory, .dense = memory, .output = memory, .workspace = workspace});
  return list;
}

}  // namespace

TEST_CASE("every launch of a call may start while the one before ends, the first one unless its plan was told not to") {
  const std::vector<bool> by_default = overlaps(true);
  REQUIRE(by_default.size() >= 2);  // it packs, and multiplies
  CHECK(by_default == std::vector<bool>(by_default.size(), true));
  std::vector<bool> apart(by_default.size(), true);
  apart.front() = false;
  CHECK(overlaps(false) == apart);
}

TEST_CASE("every kernel that an operation launches waits for the launch before it") {
  int kernels = 0;
  for (const device::Header& header : codegen::embedded_templates()) {
    // Steps of a topology are launched one after the other; those that pack values are launched as operations are.
    const bool packs = header.name.starts_with("topology/pack_");
    if (header.text.find("__global__") == std::string::npos || (header.name.starts_with("topology/") && !packs)) continue;
    CAPTURE(header.name);
    ++kernels;
    bool waits = false;
    for (const device::Header& part : codegen::include_closure(header.name))
      waits = waits || (part.name != "parts/dependent_launch.h" && part.text.find("_previous_launch();") != std::string::npos);
    CHECK(waits);
  }
  CHECK(kernels >= 24);
}
