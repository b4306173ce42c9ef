// What a plan needs and has to compile, it compiles side by side.
#include "plan/beside.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

constexpr std::chrono::seconds patience(20);  // ends a test that fails

/// Holds compiles until so many run at once.
struct Gathering {
  explicit Gathering(test::Fixture& fixture, int wanted) {
    fixture.device->fake_compiler.on_compile = [this, wanted](const device::Source&) {
      std::unique_lock lock(mutex);
      most = std::max(most, ++running);
      changed.notify_all();
      changed.wait_for(lock, patience, [&] { return most >= wanted; });
      --running;
    };
  }
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  int most = 0;
};

std::ptrdiff_t threads_here() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

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
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> elsewhere = false;
  fixture.device->fake_compiler.on_compile = [&](const device::Source&) {
    elsewhere = elsewhere || std::this_thread::get_id() != caller;
  };
  plan_with_two_kernels(fixture.session({.compile_threads = 1}));
  CHECK_FALSE(elsewhere);
}

TEST_CASE("a kernel that does not compile is the plan's error, whichever thread met it first") {
  for (const int threads :
       {1, 2}) {  // with one it is the caller; with two the other thread, as the caller is held until then
    CAPTURE(threads);
    test::Fixture fixture;
    const auto caller = std::this_thread::get_id();
    std::promise<bool> met_by_caller;
    std::future<bool> met = met_by_caller.get_future();
    std::atomic<int> failures = 0;
    fixture.device->fake_compiler.on_compile = [&](const device::Source& source) {
      const bool is_caller = std::this_thread::get_id() == caller;
      if (source.expression.find("nonzero_split_rows") != std::string::npos) {
        if (failures++ == 0) met_by_caller.set_value(is_caller);
        fail(ErrorCode::compile_failed, "cannot compile {}", source.expression);
      }
      if (threads > 1 && is_caller) met.wait_for(patience);
    };
    const auto session = fixture.session({.compile_threads = threads});
    CHECK(test::code_of([&] { plan_with_two_kernels(session); }) == ErrorCode::compile_failed);
    CHECK(met.get() == (threads == 1));
  }
}

TEST_CASE("what is in a code layer starts no thread") {
  test::Fixture fixture;
  plan_with_two_kernels(fixture.session());
  fixture.device->fake_compiler.on_compile = [](const device::Source&) {
    fail(ErrorCode::internal, "this was compiled before");
  };
  const auto session = fixture.session({.compile_threads = 4});
  const auto caller = std::this_thread::get_id();
  const std::ptrdiff_t threads_before = threads_here();
  std::atomic<bool> elsewhere = false;
  // A thread that was started either loads here, or has not yet got so far and is counted.
  fixture.device->on_load = [&](const device::Image&) {
    elsewhere = elsewhere || std::this_thread::get_id() != caller || threads_here() > threads_before;
  };
  plan_with_two_kernels(session);
  CHECK_FALSE(elsewhere);
}

TEST_CASE("a job that throws keeps no other from being done, and all are done at the end") {
  std::atomic<int> done = 0;
  {
    plan::Beside beside;
    CHECK_FALSE(beside.started());
    const auto throws_late = [] {  // the end comes before the other jobs are begun
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      throw std::runtime_error("no");
    };
    beside.start({throws_late, [&] { ++done; }, [&] { ++done; }}, 1);
    CHECK(beside.started());
  }
  CHECK(done == 2);
  plan::Beside none;
  none.start({[&] { ++done; }}, 0);
  CHECK_FALSE(none.started());
  CHECK(done == 2);
  {
    plan::Beside several;
    several.start({[&] { ++done; }, [&] { ++done; }, [&] { ++done; }}, 4);
  }
  CHECK(done == 5);  // each once
}
