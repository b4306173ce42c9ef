// The functions that a program gives: its allocator, its log, progress and stop.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "unit/c/fixture.hpp"

using namespace vostok;
using test::check_refused;

namespace {

struct Memory {
  std::atomic<int> live = 0;
  std::atomic<int> served = 0;
  std::atomic<bool> empty = false;
};

void* allocate(std::int64_t bytes, void* user) {
  Memory& memory = *static_cast<Memory*>(user);
  if (memory.empty) return nullptr;
  ++memory.live;
  ++memory.served;
  return std::aligned_alloc(256, static_cast<std::size_t>((bytes + 255) / 256 * 256));
}

void release(void* address, void* user) {
  --static_cast<Memory*>(user)->live;
  std::free(address);
}

struct Lines {
  std::mutex mutex;
  std::vector<std::string> texts;
};

void note(const char* text, void* user) {
  Lines& lines = *static_cast<Lines*>(user);
  const std::lock_guard lock(lines.mutex);
  lines.texts.emplace_back(text);
}

vostok_plan_options quick() {
  vostok_plan_options options;
  vostok_plan_options_init(&options, sizeof options);
  options.effort = VOSTOK_EFFORT_QUICK;
  options.budget_seconds = 1e5;  // however slow the machine is: what stops these plans is asked again
  return options;
}

}  // namespace

TEST_CASE(
    "device memory comes from the caller's functions and goes back to them, also what outlives its context's handle") {
  Memory memory;
  vostok_options options = test::quiet_options();
  options.allocate = allocate;
  options.release = release;
  options.allocator_user = &memory;
  test::COfContext context = test::open(options);
  const auto array =
      test::made<test::COfArray>([&](vostok_array** out) { return vostok_array_create(context.get(), 1000, out); });
  CHECK(memory.served == 1);
  CHECK(vostok_array_bytes(array.get()) == 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(vostok_array_data(array.get())) % 256 == 0);
  const test::COfTopology topology = test::small_topology(context);
  CHECK(memory.served > 1);

  memory.empty = true;
  vostok_array* none = nullptr;
  check_refused(vostok_array_create(context.get(), 4096, &none), VOSTOK_OUT_OF_MEMORY, "4096");
  memory.empty = false;
  context.reset();
  CHECK(memory.live >= 2);
  CHECK(vostok_array_retain(array.get()) == array.get());
  vostok_array_release(array.get());
  CHECK(memory.live >= 2);
  const test::COfArray last(vostok_array_retain(array.get()));
}

TEST_CASE("what the caller's allocator served has all come back once the last handle is gone") {
  Memory memory;
  {
    vostok_options options = test::quiet_options();
    options.allocate = allocate;
    options.release = release;
    options.allocator_user = &memory;
    const test::COfContext context = test::open(options);
    const test::COfTopology topology = test::small_topology(context);
    const auto empty =
        test::made<test::COfArray>([&](vostok_array** out) { return vostok_array_create(context.get(), 0, out); });
    CHECK(vostok_array_data(empty.get()) == nullptr);
    CHECK(vostok_array_bytes(empty.get()) == 0);
  }
  CHECK(memory.served > 0);
  CHECK(memory.live == 0);
}

TEST_CASE("lines of the log come one by one, with their level") {
  struct Noted : Lines {
    std::vector<std::int32_t> levels;
  } noted;
  vostok_options options = test::quiet_options();
  options.shipped = "/nonexistent";
  options.cache_enabled = 1;
  options.cache_folder = "/proc/nowhere";
  options.log_user = &noted;
  options.log = [](std::int32_t level, const char* text, void* user) {
    static_cast<Noted*>(user)->levels.push_back(level);
    note(text, static_cast<Lines*>(static_cast<Noted*>(user)));
  };
  const test::COfContext context = test::open(options);
  REQUIRE(noted.texts.size() == 1);
  CHECK(test::contains(noted.texts.front(), "/proc/nowhere"));
  CHECK(noted.levels.front() == VOSTOK_LOG_LEVEL_WARNING);
}

TEST_CASE("progress is told while a plan is tuned, and stop ends it") {
  vostok_options of_context = test::quiet_options();
  of_context.first_run = VOSTOK_FIRST_RUN_THIS_PROCESS;
  const test::COfContext context = test::open(of_context);
  const test::COfTopology topology = test::small_topology(context);
  const vostok_spmm problem = test::spmm_of(4);
  Lines lines;
  std::atomic<int> asked = 0;
  vostok_plan_options options = quick();
  options.progress = note;
  options.progress_user = &lines;
  options.stop_user = &asked;
  options.stop = [](void* user) { return static_cast<std::int32_t>(++*static_cast<std::atomic<int>*>(user) > 1); };
  const auto plan = test::made<test::COfPlan>(
      [&](vostok_plan** out) { return vostok_plan_spmm(context.get(), topology.get(), &problem, &options, out); });
  CHECK_FALSE(lines.texts.empty());
  CHECK(asked > 1);
}

TEST_CASE("handles are retained and released by several threads at once") {
  Memory memory;
  {
    vostok_options options = test::quiet_options();
    options.allocate = allocate;
    options.release = release;
    options.allocator_user = &memory;
    test::COfContext context = test::open(options);
    vostok_topology* const topology = test::small_topology(context).release();
    context.reset();
    std::vector<std::thread> threads;
    constexpr int count = 4;
    for (int i = 0; i < count; ++i) vostok_topology_retain(topology);
    for (int i = 0; i < count; ++i)
      threads.emplace_back([topology] {
        for (int round = 0; round < 1000; ++round) vostok_topology_release(vostok_topology_retain(topology));
        vostok_topology_release(topology);
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(memory.live > 0);
    vostok_topology_release(topology);
  }
  CHECK(memory.live == 0);
}
