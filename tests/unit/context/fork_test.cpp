// What a child process finds of a context that its parent made: errors at once, and handles that can be let go.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <vostok/tools.hpp>
#include <vostok/vostok.hpp>

#include "error_code.hpp"
#include "sparse/generate.hpp"
#include "unit/child_outcome.hpp"
#include "unit/device/cuda_fixture.hpp"
#include "unit/device/fake_cuda/fake_nvrtc.hpp"

using namespace vostok;

namespace {

constexpr std::int64_t rows = 24;
constexpr std::int64_t cols = 16;
constexpr std::int64_t n = 8;

Options quiet(const std::string& device) {
  return {.device = device, .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}};
}

/// In place of a check: the child's failures reach the parent as its exception.
void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

/// A handle of each kind.
struct Everything {
  explicit Everything(const Options& options) : context(options) {
    plan.emplace(context.plan(Spmm{.n = n}, mask));
    persistent.emplace(context.plan(Spmm{.n = n, .value_lifetime = ValueLifetime::persistent}, mask));
    attention.emplace(context.plan(SparseAttention{.n = n}, mask));
    workspace = attention->make_workspace();
    packed = persistent->pack(nullptr, values.data());
    turned = transpose(mask);
  }

  SpmmArguments call() { return {.values = values.data(), .dense = dense.data(), .output = output.data()}; }

  sparse::Csr csr = sparse::uniform(rows, cols, 0.5, 1);
  std::vector<float> values = std::vector<float>(static_cast<std::size_t>(csr.nonzeros()), 1);
  std::vector<float> dense = std::vector<float>(static_cast<std::size_t>(cols * n), 2);
  std::vector<float> output = std::vector<float>(static_cast<std::size_t>(rows * n), -1);
  Context context;
  Topology mask = context.topology(csr.view());
  std::optional<SpmmPlan> plan = {};
  std::optional<SpmmPlan> persistent = {};
  std::optional<AttentionPlan> attention = {};
  Workspace workspace = {};
  PackedValues packed = {};
  PermutedTopology turned = {};
};

/// Every call that needs the device, threads or locks.
std::vector<std::pair<const char*, std::function<void()>>> calls_on(Everything& made) {
  return {{"execute", [&] { made.plan->execute(nullptr, made.call()); }},
          {"execute a composed plan", [&] { made.attention->execute(nullptr, {}); }},
          {"plan", [&] { made.context.plan(Spmm{.n = n + 1}, made.mask); }},
          {"plan without a mask", [&] { made.context.plan(BiasActivation{.rows = 2, .columns = 2}); }},
          {"rebind", [&] { made.plan->rebind(made.mask); }},
          {"explain", [&] { made.plan->explain(); }},
          {"make_workspace", [&] { made.plan->make_workspace(); }},
          {"pack", [&] { made.persistent->pack(nullptr, made.values.data()); }},
          {"pack_into", [&] { made.persistent->pack_into(nullptr, made.values.data(), {}); }},
          {"save", [&] { made.packed.save(); }},
          {"save_head", [&] { made.packed.save_head(); }},
          {"load_packed alone", [&] { made.context.load_packed(std::vector<std::byte>(8)); }},
          {"adopt_packed", [&] { made.context.adopt_packed(PackedMemory{}); }},
          {"load_packed", [&] { made.context.load_packed(made.mask, std::vector<std::byte>(8)); }},
          {"topology", [&] { made.context.topology(made.csr.view()); }},
          {"device_bytes", [&] { made.mask.device_bytes(); }},
          {"release_source", [&] { made.mask.release_source(); }},
          {"release_packing", [&] { made.mask.release_packing(); }},
          {"transpose", [&] { transpose(made.mask); }},
          {"to_dense", [&] { to_dense(made.mask, made.values.data(), {.data = made.output.data()}); }},
          {"make_mask", [&] { make_mask(made.context, UniformMask{.rows = 4, .cols = 4, .sparsity = 0.5}); }},
          {"sparse_above", [&] { sparse_above(made.context, {.data = made.dense.data(), .rows = 2, .cols = 2}, 0); }},
          {"prepare", [&] { made.context.prepare({}); }},
          {"export_cache", [&] { made.context.export_cache(); }},
          {"import_cache", [&] { made.context.import_cache({}); }},
          {"reload", [&] { made.context.reload(); }}};
}

void expect_errors(Everything& made) {
  for (const auto& [name, call] : calls_on(made)) {
    std::optional<ErrorCode> code;
    std::string said = "nothing";
    try {
      call();
    } catch (const Error& error) {
      code = error.code();
      said = error.what();
    }
    require(code == ErrorCode::after_fork, std::string(name) + " raised " + said);
    require(said.find("was opened before this process was forked off") != std::string::npos, said);
  }
}

void check_child(const std::function<void()>& body) {
  const test::ChildOutcome outcome = test::in_child(body);
  CHECK_MESSAGE((outcome.finished && !outcome.threw), outcome.log);
}

}  // namespace

TEST_CASE("on the emulator every call on the parent's handles is after_fork in a child, and the parent goes on") {
  Everything made(quiet("emulator"));
  made.plan->execute(nullptr, made.call());  // its threads run
  const std::vector<float> expected = made.output;
  check_child([&] { expect_errors(made); });
  made.output.assign(made.output.size(), -1);
  made.plan->execute(nullptr, made.call());
  CHECK(made.output == expected);
  CHECK(name(ErrorCode::after_fork) == std::string("after_fork"));
}

TEST_CASE("a child lets the parent's handles go and ends normally, in whichever order and with threads in a launch") {
  auto made = std::make_unique<Everything>(quiet("emulator"));
  made->plan->execute(nullptr, made->call());
  SUBCASE("all at once") {
    check_child([&] { made.reset(); });
  }
  SUBCASE("the context first") {
    check_child([&] {
      made->context = Context(quiet("emulator"));
      made.reset();
    });
  }
  SUBCASE("the parent has let the context go before") {
    made->context = Context(quiet("emulator"));
    check_child([&] { made.reset(); });
  }
  SUBCASE("at exit") {
    if (test::has_address_sanitizer) {
      MESSAGE("skipped: the leak check at exit reports what a child cannot give back");
      return;
    }
    check_child([&] {
      static const std::unique_ptr<Everything> at_exit = std::move(made);  // destroyed behind main
      std::exit(test::child::finished_status);
    });
  }
  SUBCASE("while other threads execute, plan and make topologies") {
    if (test::has_address_sanitizer || test::has_thread_sanitizer) {
      MESSAGE("skipped: a sanitizer's own locks may be held by other threads at a fork");
      return;
    }
    std::atomic<bool> done = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        std::vector<float> output(made->output.size());
        SpmmArguments call = made->call();
        call.output = output.data();
        while (!done) {
          made->plan->execute(nullptr, call);
          if (i == 1) made->context.topology(made->csr.view());
          if (i == 2) made->context.plan(Spmm{.n = n}, made->mask).explain();
        }
      });
    for (int repeat = 0; repeat < 20; ++repeat)
      check_child([&] {
        expect_errors(*made);
        made.reset();
      });
    done = true;
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_CASE("a context that a child makes on the emulator works") {
  if (test::has_thread_sanitizer) {
    MESSAGE(
        "skipped: ThreadSanitizer still counts the parent's threads in a child, and may take a new one for one of "
        "these");
    return;
  }
  Everything made(quiet("emulator"));
  made.plan->execute(nullptr, made.call());
  check_child([&] {
    Everything own(quiet("emulator"));
    own.plan->execute(nullptr, own.call());
    require(own.output == made.output, "another result");
  });
}

TEST_CASE("on a GPU a child's calls are after_fork, and neither they nor letting go calls the driver") {
  const test::FakeDriver driver("fake_cuda_old.so");
  const std::string path = test::beside_executable("fake_nvrtc.so");
  const auto* const nvrtc = test::controls_of<fake::GetNvrtcControls>(path, "fake_nvrtc_controls");
  nvrtc->give_output("FAKE lowered 64");
  {
    Options options = quiet("cuda:0");
    options.nvrtc = path;
    auto made = std::make_unique<Everything>(options);
    const auto stream = driver->user_stream("user");
    made->plan->execute(stream, made->call());
    check_child([&] {
      const std::string before = driver->log();
      expect_errors(*made);
      made.reset();
      require(driver->log() == before, "the driver was called: " + std::string(driver->log()).substr(before.size()));
    });
    const int launches = driver->calls("cuLaunchKernelEx");
    made->plan->execute(stream, made->call());
    CHECK(driver->calls("cuLaunchKernelEx") > launches);
  }
  nvrtc->reset();
}
