// Many processes and threads that plan on one cold cache: the planner over real cache files, and a device whose
// compiler counts.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "base/temporary_folder.hpp"
#include "cache/cache.hpp"
#include "plan/features.hpp"
#include "plan/make_plan.hpp"
#include "sparse/generate.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/self_process.hpp"

using namespace vostok;

namespace {

constexpr int processes = 16;
constexpr int plans = 200;
constexpr int problems = 25;
constexpr int plans_per_trial = 10;

/// A planner over the caches in a folder.
struct Planning {
  explicit Planning(const std::filesystem::path& folder) {
    device->fake_compiler.on_compile = [this](const device::Source& source) {
      const std::lock_guard lock(mutex);
      if (!compiled.insert(source.expression).second) ++repeated_compiles;
    };
    const auto logger = std::make_shared<Logger>([](LogLevel, std::string_view) {});
    const CacheOptions options{.folder = folder, .shipped = folder / "none", .lock_timeout_ms = 60'000};
    stores = cache::open(options, logger, [this] { ++warnings; }).stores;
    session = std::make_shared<plan::Session>(device, stores, logger, counters, Options{});
    planner = std::make_shared<plan::Planner>(session);
    topology = Topology(std::make_shared<TopologyState>(session, sparse::uniform(64, 64, 0.8, 1).view(), nullptr));
  }

  /// Different ones in different orders: what meets is two processes at the same key, and at different ones.
  SpmmPlan plan(int id, int i) const {
    const int problem = (i * (2 * id + 3) + id) % problems;
    return SpmmPlan(make_plan(*planner,
                              Spmm{.n = std::int64_t{8} * (problem + 1), .alignment_bytes = problem % 2 == 0 ? 16 : 4},
                              topology, {}));
  }

  std::mutex mutex;
  std::set<std::string> compiled;
  int repeated_compiles = 0;
  std::atomic<int> warnings = 0;
  std::shared_ptr<test::FakeDevice> device = std::make_shared<test::FakeDevice>();
  std::shared_ptr<plan::AtomicCounters> counters = std::make_shared<plan::AtomicCounters>();
  plan::Stores stores;
  std::shared_ptr<plan::Session> session;
  std::shared_ptr<plan::Planner> planner;
  Topology topology;
};

const plan::ProblemKey tuned_problem = {
    .operation = "spmm", .exact = "cold cache", .features = {.m = 1, .k = 1, .n = 1}};

/// What one process does. 0: nothing failed, nothing was compiled twice.
int plan_all(const std::filesystem::path& folder, int id) {
  Planning planning(folder);  // NOLINT(misc-const-correctness): what it listens to changes it
  for (int i = 0; i < plans; ++i) {
    if (!planning.plan(id, i)) return 1;
    if (i % plans_per_trial != 0) continue;
    planning.stores.tuning->add_trial(tuned_problem, planning.session->device_key(),
                                      {.family = "row_tile",
                                       .config = {{"id", std::to_string(id)}, {"i", std::to_string(i)}},
                                       .status = "measured",
                                       .median_us = 1});
  }
  if (planning.repeated_compiles > 0) return 2;
  return planning.warnings == 0 ? 0 : 3;
}

/// Becomes such a process before doctest starts, where the environment says so.
const bool is_test_process = [] {
  const char* id = std::getenv("VOSTOK_COLD_CACHE_ID");
  const char* folder = std::getenv("VOSTOK_COLD_CACHE_FOLDER");
  if (id == nullptr || folder == nullptr) return true;
  std::_Exit(plan_all(folder, std::atoi(id)));
}();

pid_t start_process(const std::filesystem::path& folder, int id) {
  return test::start_self(
      {"VOSTOK_COLD_CACHE_ID=" + std::to_string(id), "VOSTOK_COLD_CACHE_FOLDER=" + folder.string()});
}

}  // namespace

TEST_CASE(
    "sixteen processes make two hundred plans each on one cold cache: none fails, no row is lost, none compiles a "
    "kernel twice") {
  REQUIRE(is_test_process);
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  children.reserve(processes);
  for (int id = 0; id < processes; ++id) children.push_back(start_process(folder / "c", id));
  for (const pid_t child : children) CHECK(test::exit_status(child) == 0);

  Planning after(folder / "c");
  for (int i = 0; i < plans; ++i) CHECK(after.plan(0, i));
  CHECK(after.compiled.empty());
  CHECK(after.counters->code_hits > 1);
  CHECK(after.stores.tuning->trials(tuned_problem, after.session->device_key()).size() ==
        processes * plans / plans_per_trial);
  CHECK(after.warnings == 0);
}

TEST_CASE("sixteen threads make two hundred plans each on one cold cache: none compiles a kernel that another has") {
  const TemporaryFolder folder;
  Planning planning(folder / "c");
  std::vector<std::thread> threads;
  threads.reserve(processes);
  std::atomic<int> made = 0;
  for (int id = 0; id < processes; ++id)
    threads.emplace_back([&planning, &made, id] {
      for (int i = 0; i < plans; ++i) made += planning.plan(id, i) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(made == processes * plans);
  CHECK(planning.repeated_compiles == 0);
  CHECK(planning.warnings == 0);
  CHECK(planning.counters->memo_hits == processes * plans - problems);
}
