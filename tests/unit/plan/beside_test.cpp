// What a plan needs and has to compile, it compiles side by side.
#include "plan/beside.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

/// Holds compiles until so many run at once.
struct Gathering {
  explicit Gathering(test::Fixture& fixture, int wanted) {
    fixture.device->fake_compiler.on_compile = [this, wanted](const device::Source&) {
      std::unique_lock lock(mutex);
      most = std::max(most, ++running);
      changed.notify_all();
      constexpr std::chrono::seconds patience(20);  // ends a test that fails
      changed.wait_for(lock, patience, [&] { return most >= wanted; });
      --running;
    };
  }
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  int most = 0;
};

void plan_with_two_kernels(const std::shared_ptr<plan::Session>& session) {
  const auto planner = std::make_shared<plan::Planner>(session);
  const Topology topology = test::Fixture::topology(session, sparse::uniform(2048, 512, 0.9, 1));
  const SpmmPlan plan(make_plan(*planner, Spmm{.n = 256}, topology, {.family = "nonzero_split"}));
  CHECK(plan.state()->choices.front().launches.size() == 2);
}

}  // namespace

TEST_CASE("kernels of one plan are compiled at once, each once") {
  test::Fixture fixture;
  Gathering gathering(fixture, 2);
  plan_with_two_kernels(fixture.session({.compile_threads = 2}));
  CHECK(gathering.most == 2);
  CHECK(fixture.device->fake_compiler.compiles == fixture.counters->kernels_compiled);
}

TEST_CASE("where one thread may compile, one does") {
  test::Fixture fixture;
  Gathering gathering(fixture, 1);
  plan_with_two_kernels(fixture.session({.compile_threads = 1}));
  CHECK(gathering.most == 1);
}

TEST_CASE("a kernel that does not compile is the plan's error, whichever thread met it first") {
  test::Fixture fixture;
  fixture.device->fake_compiler.on_compile = [](const device::Source& source) {
    if (source.expression.find("nonzero_split_rows") != std::string::npos) fail(ErrorCode::compile_failed, "cannot compile {}", source.expression);
  };
  const auto session = fixture.session({.compile_threads = 4});
  CHECK(test::code_of([&] { plan_with_two_kernels(session); }) == ErrorCode::compile_failed);
}

TEST_CASE("what is in a code layer starts no thread") {
  test::Fixture fixture;
  plan_with_two_kernels(fixture.session());
  fixture.device->fake_compiler.on_compile = [](const device::Source&) { fail(ErrorCode::internal, "this was compiled before"); };
  const auto caller = std::this_thread::get_id();
  bool elsewhere = false;
  fixture.device->on_load = [&](const device::Image&) { elsewhere = elsewhere || std::this_thread::get_id() != caller; };
  plan_with_two_kernels(fixture.session({.compile_threads = 4}));
  CHECK_FALSE(elsewhere);
}

TEST_CASE("a job that throws keeps no other from being done, and all are done at the end") {
  std::atomic<int> done = 0;
  {
    plan::Beside beside;
    CHECK_FALSE(beside.started());
    beside.start({[] { throw std::runtime_error("no"); }, [&] { ++done; }, [&] { ++done; }}, 1);
    CHECK(beside.started());
  }
  CHECK(done == 2);
  plan::Beside none;
  none.start({[&] { ++done; }}, 0);
  CHECK_FALSE(none.started());
  CHECK(done == 2);
}
