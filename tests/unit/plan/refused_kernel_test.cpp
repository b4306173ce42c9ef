// Kernels that the driver refuses, and kernels that nobody can compile: what serves instead.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plan/kernels.hpp"
#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;
using test::Fixture;

namespace {

/// A code store that notes what is dropped, from whichever thread.
class DroppingCode : public plan::CodeStore {
 public:
  std::shared_ptr<plan::CodeStore> rows = plan::memory_stores().code;
  std::mutex mutex;
  std::vector<std::string> dropped;

  std::optional<device::Image> find(const std::string& key) override { return rows->find(key); }
  void put(const plan::CodeEntry& entry, const device::Image& image) override { rows->put(entry, image); }
  void drop(const std::string& key) override {
    {
      const std::lock_guard lock(mutex);
      dropped.push_back(key);
    }
    rows->drop(key);
  }
};

/// Processes one after another on the same caches, in which a choice other than the default is stored.
struct Processes {
  Fixture fixture;
  std::shared_ptr<DroppingCode> code = std::make_shared<DroppingCode>();
  std::map<std::string, int> compiles;  ///< by expression
  FieldMap standard;
  FieldMap tuned;

  Processes() {
    fixture.code = code;
    fixture.device->fake_compiler.on_compile = [this](const device::Source& source) {
      const std::lock_guard lock(code->mutex);
      ++compiles[source.expression];
    };
    standard = plan({.effort = Effort::heuristic}).config();
    tuned = standard;
    tuned["prefetch_sparse"] = standard.at("prefetch_sparse") == "true" ? "false" : "true";
  }

  /// As the next process plans it.
  SpmmPlan plan(const PlanOptions& options = {}) {
    const auto session = fixture.session();
    const auto planner = std::make_shared<plan::Planner>(session);
    const Topology topology = Fixture::topology(session, sparse::uniform(64, 64, 0.8, 1));
    return SpmmPlan(make_plan(*planner, Spmm{.n = 64, .math = Math::strict}, topology, options));
  }
  void store_choice() {
    fixture.tuning->matches = {
        {.winner = {.family = "row_tile", .config = tuned, .median_us = 2, .default_median_us = 3}}};
  }
  /// The kernels that were compiled for the stored choice.
  void refuse_all_but(const std::map<std::string, int>& accepted) const {
    fixture.device->on_load = [accepted](const device::Image& image) {
      if (!accepted.contains(image.binary))
        fail(ErrorCode::device_failure, "cannot load kernel: the driver refused it");
    };
  }
};

}  // namespace

TEST_CASE(
    "a stored kernel that the driver refuses is dropped and compiled once, and where that is refused too, the "
    "heuristic serves") {
  Processes processes;
  const std::map<std::string, int> of_heuristic = processes.compiles;
  processes.store_choice();
  REQUIRE(processes.plan().config() == processes.tuned);
  REQUIRE(processes.compiles.size() == of_heuristic.size() + 1);
  REQUIRE(processes.code->dropped.empty());

  processes.refuse_all_but(of_heuristic);
  processes.fixture.log.clear();
  const SpmmPlan plan = processes.plan();
  CHECK(plan.provenance() == Provenance::heuristic);
  CHECK(plan.config() == processes.standard);
  CHECK(processes.code->dropped.size() == 1);
  for (const auto& [expression, count] : processes.compiles)
    CHECK(count == (of_heuristic.contains(expression) ? 1 : 2));
  CHECK(processes.fixture.log.size() == 2);  // of the row, and of the choice
}

TEST_CASE(
    "a heuristic's kernel that the driver refuses whenever it is made is the device's failure, after one attempt") {
  Processes processes;
  processes.refuse_all_but({});
  std::string message;
  CHECK(code_of([&] { processes.plan(); }, &message) == ErrorCode::device_failure);
  CHECK(message.find("the driver refused it") != std::string::npos);
  CHECK(processes.code->dropped.size() == 1);
  for (const auto& [expression, count] : processes.compiles) CHECK(count <= 2);
}

TEST_CASE(
    "without a compiler code layers serve: a stored choice that has no kernel there gives way to the heuristic that "
    "has one") {
  Processes processes;
  processes.store_choice();
  processes.fixture.device->fake_compiler.on_compile = [](const device::Source&) {
    fail(ErrorCode::no_compiler, "cannot compile: NVRTC is not in /opt/somewhere");
  };
  const SpmmPlan plan = processes.plan();
  CHECK(plan.config() == processes.standard);
  CHECK(plan.provenance() == Provenance::heuristic);
  REQUIRE(processes.fixture.log.size() == 1);
  CHECK(processes.fixture.log.front().find("/opt/somewhere") != std::string::npos);
  SUBCASE("where neither has one the error names what was searched") {
    processes.code->rows = plan::memory_stores().code;
    std::string message;
    CHECK(code_of([&] { processes.plan(); }, &message) == ErrorCode::no_compiler);
    CHECK(message.find("/opt/somewhere") != std::string::npos);
  }
}
