#include <abi/packed_steps.h>
#include <abi/sparse_steps.h>
#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>

#include "contains.hpp"
#include "ops/topology/queue.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;

namespace {

ops::Step<PackedStepTraits> packed_step(const char* kernel, IndexType index) {
  return {"topology/packed_strips.h", kernel, "PackedStepTraits", {.index = index}};
}

ops::Step<SparseStepTraits> sparse_step(const char* kernel) {
  return {"topology/sparse_strips.h", kernel, "SparseStepTraits", {}};
}

/// What was loaded is a kernel whose code names its header, name and traits.
struct Loaded {
  int loads = 0;
  ops::StepKernels kernels{[this](const codegen::KernelRequest& request, std::int64_t) {
    ++loads;
    return std::make_shared<test::FakeKernel>(request.header + " " + request.expression);
  }};

  template <class Traits>
  std::string code(const ops::Step<Traits>& step) {
    return static_cast<const test::FakeKernel&>(kernels.get(step)).code;
  }
};

}  // namespace

TEST_CASE(
    "a step is loaded once, and another kernel, other traits and another header's kernel of the same name are others") {
  Loaded loaded;
  std::set<std::string> codes;
  for (int round = 0; round < 2; ++round) {
    codes.insert(loaded.code(packed_step("make", IndexType::i32)));
    codes.insert(loaded.code(packed_step("make", IndexType::u16)));
    codes.insert(loaded.code(packed_step("another", IndexType::i32)));
    codes.insert(loaded.code(sparse_step("make")));
    CHECK(codes.size() == 4);
    CHECK(loaded.loads == 4);
  }
  CHECK(test::contains(loaded.code(sparse_step("make")), "sparse_strips.h"));
  CHECK(test::contains(loaded.code(packed_step("make", IndexType::i32)), "packed_strips.h"));
}
