// Device memory runs out at every allocation in turn: the error says how much was asked for, nothing leaks, and the
// same context goes on.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

using Work = std::function<void(const std::shared_ptr<plan::Session>&)>;

/// A device of which the allocation after so many others fails, and from then on all or none. Threads may allocate.
struct Exhausted : test::Fixture {
  Exhausted(int after, bool goes_on) {
    device->on_allocate = [this, after, goes_on](std::int64_t bytes) {
      const std::lock_guard lock(mutex);
      const int number = allocations++;
      if (number != after && (goes_on || number < after)) return;
      refused.insert(bytes);
      fail(ErrorCode::out_of_memory, "cannot allocate {} bytes of device memory: 0 are left", bytes);
    };
  }
  bool names_bytes(const std::string& message) const {
    return std::any_of(refused.begin(), refused.end(), [&](std::int64_t bytes) {
      return message.find("allocate " + std::to_string(bytes) + " bytes") != std::string::npos;
    });
  }
  std::mutex mutex;
  int allocations = 0;
  std::set<std::int64_t> refused;
};

/// A topology, every form that can be had without kernels that count, plans of every operation, packed values and
/// workspaces.
void plan_everything(const std::shared_ptr<plan::Session>& session) {
  const auto planner = std::make_shared<plan::Planner>(session);
  const Topology topology = test::Fixture::topology(session, sparse::uniform(64, 64, 0.8, 1));
  topology.state()->pointers({.index = IndexType::i32, .transposed = true, .row_order = true, .strip_entries = 32});
  alignas(16) static float memory[4096] = {};
  const SpmmPlan product(make_plan(
      *planner, Spmm{.n = 8, .math = Math::strict, .value_lifetime = ValueLifetime::persistent}, topology, {}));
  const PackedValues packed = product.pack(nullptr, memory);
  const Workspace workspace = product.make_workspace();
  product.execute(nullptr, {.packed = packed, .dense = memory, .output = memory + 2048, .workspace = workspace});
  const SpmmPlan transposed(make_plan(*planner, Spmm{.n = 8, .sparse_transposed = true}, topology, {}));
  const Workspace other = transposed.make_workspace();
  const SddmmPlan sampled(make_plan(*planner, Sddmm{.n = 8, .math = Math::strict}, topology, {}));
  const SoftmaxPlan softmax(make_plan(*planner, Softmax{}, topology, {}));
  const SpmmPlan rebound = product.rebind(test::Fixture::topology(session, sparse::uniform(64, 64, 0.8, 2)));
}

/// Runs the work with a fault at each allocation. How many faults there were.
int fail_at_each(const Work& work, bool goes_on) {
  for (int after = 0;; ++after) {
    CAPTURE(after);
    Exhausted fixture(after, goes_on);
    const auto session = fixture.session();
    std::optional<ErrorCode> code;
    try {
      work(session);
    } catch (const Error& error) {
      code = error.code();
      CHECK(fixture.names_bytes(error.what()));
    }
    CHECK(fixture.device->allocations_alive == 0);
    if (fixture.refused.empty()) {
      CHECK_FALSE(code.has_value());
      return after;
    }
    // What is made beside a compile is asked for again: one refusal there is none.
    if (code || !goes_on) CHECK(code == ErrorCode::out_of_memory);
    fixture.device->on_allocate = [](std::int64_t) {};
    CHECK_NOTHROW(work(session));
    CHECK(fixture.device->allocations_alive == 0);
  }
}

}  // namespace

TEST_CASE(
    "whichever allocation of topologies, plans and packed values fails, the error says its bytes, nothing leaks, and "
    "the context goes on") {
  for (const bool goes_on : {true, false}) CHECK(fail_at_each(plan_everything, goes_on) >= 10);
}

TEST_CASE(
    "where memory runs out while operands for a race are made, the heuristic serves, the note says why, and nothing "
    "leaks") {
  for (const int after : {0, 1, 2}) {  // values, B, C
    CAPTURE(after);
    test::Fixture fixture;
    const auto session = fixture.session();
    const auto planner = std::make_shared<plan::Planner>(session);
    const Topology topology = test::Fixture::topology(session, sparse::uniform(64, 64, 0.8, 1));
    const Spmm problem{.n = 8, .math = Math::strict};
    const SpmmPlan known(make_plan(*planner, problem, topology, {.effort = Effort::heuristic}));  // its forms are made
    const int held = fixture.device->allocations_alive;
    std::atomic<int> left = after;
    fixture.device->on_allocate = [&](std::int64_t bytes) {
      if (left-- <= 0) fail(ErrorCode::out_of_memory, "cannot allocate {} bytes of device memory: 0 are left", bytes);
    };
    const SpmmPlan plan(make_plan(*planner, problem, topology, {.effort = Effort::quick, .budget_seconds = 1e-9}));
    CHECK(plan.provenance() == Provenance::heuristic);
    CHECK(plan.config() == known.config());
    CHECK(fixture.device->allocations_alive == held);
    CHECK(plan.explain().note.find("bytes of device memory") != std::string::npos);
  }
}
