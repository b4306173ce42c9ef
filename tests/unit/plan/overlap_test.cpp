// Which launches of a plan may start while the one before still runs, and that every kernel which may waits by itself.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "codegen/source.hpp"
#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

/// Of each launch of a call its kernel, and whether it may.
struct Noted {
  std::string kernel;
  bool overlaps;
};

template <class Problem>
std::vector<Noted> launches(const Problem& problem, const typename Problem::Arguments& call, const PlanOptions& options) {
  test::Fixture fixture;
  const auto session = fixture.session();
  const auto planner = std::make_shared<plan::Planner>(session);
  const Topology topology = test::Fixture::topology(session, sparse::uniform(200, 300, 0.5, 7));
  const Plan<Problem> plan(plan::make_plan(*planner, problem, topology, options));
  std::vector<Noted> list;
  bool overlaps = false;
  fixture.device->on_shape = [&](const device::LaunchShape& shape) { overlaps = shape.waits_for_previous; };
  fixture.device->on_launch = [&](const test::FakeKernel& kernel) { list.push_back({kernel.code, overlaps}); };
  plan.execute(nullptr, call);
  return list;
}

alignas(256) float memory[64];  // for every operand: kernels of a fake device do nothing

/// Of an SpMM that packs, multiplies and, with slices of k, adds up.
std::vector<Noted> product_launches(const Spmm& problem, const PlanOptions& options) {
  return launches(problem, SpmmArguments{.values = memory, .dense = memory, .output = memory, .workspace = memory}, options);
}

bool makes_operands(const Noted& launch) {
  return launch.kernel.find("split_dense") != std::string::npos || launch.kernel.find("sample_operands") != std::string::npos;
}

}  // namespace

TEST_CASE("launches of a call may start while the one before ends, the first one unless its plan was told not to") {
  for (const bool overlap_calls : {true, false}) {
    const std::vector<Noted> list = product_launches({.n = 64}, {.family = "unpack_mma", .overlap_calls = overlap_calls});
    REQUIRE(list.size() >= 2);
    for (std::size_t i = 0; i < list.size(); ++i) {
      CAPTURE(list[i].kernel);
      CHECK(list[i].overlaps == ((i > 0 || overlap_calls) && !makes_operands(list[i])));
    }
  }
}

TEST_CASE("launches that make operands start afterwards, what reads those may start meanwhile") {
  Spmm unaligned{.n = 64};
  unaligned.alignment_bytes = 4;  // not to be copied as it lies
  const std::vector<Noted> product = product_launches(unaligned, {.family = "unpack_wgmma"});
  const std::vector<Noted> sample =
      launches(Sddmm{.n = 64}, SddmmArguments{.lhs = memory, .rhs = memory, .output = memory, .workspace = memory}, {.family = "tensor_sample"});
  for (const std::vector<Noted>& list : {product, sample}) {
    int made = 0;
    for (const Noted& launch : list) {
      CAPTURE(launch.kernel);
      CHECK(launch.overlaps == !makes_operands(launch));
      made += makes_operands(launch) ? 1 : 0;
    }
    CHECK(made == 1);
  }
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
