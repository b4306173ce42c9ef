// Contexts where there is no driver, where the GPU is newer than NVRTC, and where a stream is being captured: over a
// fake driver and NVRTC.
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <vostok/vostok.hpp>

#include "base/temporary_folder.hpp"
#include "context_state.hpp"
#include "plan/features.hpp"
#include "plan/plan_state.hpp"
#include "sparse/generate.hpp"
#include "unit/device/cuda_fixture.hpp"
#include "unit/device/fake_cuda/fake_nvrtc.hpp"

using namespace vostok;
using test::caught;
using test::Caught;
using test::FakeDriver;
using test::VariableScope;

namespace {

/// Its compiles give what the fake driver loads.
struct FakeNvrtc {
  FakeNvrtc() { controls->give_output("FAKE lowered 64"); }
  ~FakeNvrtc() { controls->reset(); }
  std::string path = test::beside_executable("fake_nvrtc.so");
  const fake::NvrtcControls* controls = test::controls_of<fake::GetNvrtcControls>(path, "fake_nvrtc_controls");
};

/// It does not ask how large kernels' arguments are.
constexpr const char* any_arguments = "fake_cuda_old.so";

/// Options that note what is said.
Options noting(std::vector<std::string>& lines) {
  return {.cache = {.enabled = false}, .log = [&lines](LogLevel, std::string_view line) { lines.emplace_back(line); }};
}

Topology some_mask(const Context& context) { return context.topology(sparse::uniform(24, 16, 0.5, 1).view()); }

}  // namespace

TEST_CASE(
    "without a driver or a GPU the emulator runs, with one line that says so; where it is not allowed, it is "
    "no_device") {
  std::vector<std::string> lines;
  std::string expected;
  const auto check = [&] {
    lines.clear();
    Options options = noting(lines);
    CHECK(Context(options).device().architecture == "emulator");
    REQUIRE(lines.size() == 1);
    CHECK(lines.front().find("running on the emulator") != std::string::npos);
    options.allow_emulator = false;
    const Caught refused = caught([&] { const Context context(options); });
    CHECK(refused.code == ErrorCode::no_device);
    CHECK(refused.says("allow_emulator"));
    CHECK(refused.says(expected));
    options.allow_emulator = true;
    options.device = "cuda:0";
    CHECK(caught([&] { const Context context(options); }).code == ErrorCode::no_device);
  };
  SUBCASE("no driver") {
    const VariableScope none("VOSTOK_LIBCUDA", "/nonexistent/libcuda.so.1");
    expected = "/nonexistent/libcuda.so.1";
    check();
  }
  SUBCASE("a driver without a GPU") {
    const FakeDriver driver;
    driver->set("devices", 0);
    expected = "lists no GPU";
    check();
  }
}

TEST_CASE(
    "on a GPU newer than NVRTC and than every choice that is stored, plans take the heuristic and say that nothing was "
    "tuned") {
  const TemporaryFolder folder;
  const FakeNvrtc nvrtc;
  const FakeDriver driver(any_arguments);
  const Options options{.device = "cuda:0",
                        .cache = {.folder = folder / "c", .shipped = folder / "none"},
                        .nvrtc = nvrtc.path,
                        .log = [](LogLevel, std::string_view) {}};
  FieldMap choice;
  {
    const Context known(options);
    const Topology mask = some_mask(known);
    const SoftmaxPlan plan = known.plan(Softmax{}, mask);
    const ops::Query& query = *plan.state()->choices.front().query;
    const ops::Family& family = *ops::find_family("softmax", plan.family());
    for (const ops::Config& config : family.short_list(query))
      if (config.to_map() != plan.config() && !family.forbidden(query, config)) choice = config.to_map();
    REQUIRE_FALSE(choice.empty());
    const plan::Session& session = *known.state()->session;
    session.tuning().set_winner(plan::problem_key(query), session.device_key(),
                                {.family = plan.family(), .config = choice, .median_us = 5, .rounds = 15});
  }
  {
    const Context known(options);
    const SoftmaxPlan plan = known.plan(Softmax{}, some_mask(known));
    CHECK(plan.provenance() == Provenance::tuned_here);
    CHECK(plan.config() == choice);
  }
  driver->set("capability_major", 13);
  const Context newer(options);
  REQUIRE(newer.device().architecture == "sm_130");
  const SoftmaxPlan plan = newer.plan(Softmax{}, some_mask(newer));
  CHECK(plan.provenance() == Provenance::heuristic);
  CHECK(plan.explain().note.find("no tuned choice") != std::string::npos);
}

TEST_CASE("in a capture an execute makes launches and nothing else, and plan, topology and pack are refused") {
  const FakeNvrtc nvrtc;
  const FakeDriver driver(any_arguments);
  const Context context(
      {.device = "cuda:0", .cache = {.enabled = false}, .nvrtc = nvrtc.path, .log = [](LogLevel, std::string_view) {}});
  const Topology mask = some_mask(context);
  const SpmmPlan product = context.plan(Spmm{.n = 8, .math = Math::strict}, mask);
  const SpmmPlan persistent =
      context.plan(Spmm{.n = 8, .math = Math::strict, .value_lifetime = ValueLifetime::persistent}, mask);
  const Workspace workspace = product.make_workspace();
  alignas(16) float memory[1024] = {};
  const auto stream = driver->user_stream("captured");
  driver->capture(stream, device::cuda::CaptureStatus::active);
  driver->global_capture(true);

  const std::string before = driver->log();
  const std::int64_t memory_before = driver->live("memory");
  product.execute(stream, {.values = memory, .dense = memory, .output = memory + 512, .workspace = workspace});
  const std::string calls = std::string(driver->log()).substr(before.size());
  CHECK(calls.find("cuLaunchKernelEx captured\n") != std::string::npos);
  for (const char* forbidden : {"cuMem", "cuLibrary", "cuModule", "Synchronize", "cuEvent", "cuStreamWaitEvent"}) {
    CAPTURE(forbidden);
    CHECK(calls.find(forbidden) == std::string::npos);
  }
  CHECK(driver->live("memory") == memory_before);

  const std::int64_t compiled = context.counters().kernels_compiled;
  const auto code_of = [](auto&& call) { return caught(call).code; };
  CHECK(code_of([&] { context.plan(Spmm{.n = 16}, mask, {.stream = stream}); }) == ErrorCode::capture_active);
  CHECK(code_of([&] { context.topology(sparse::uniform(8, 8, 0.5, 1).view(), stream); }) == ErrorCode::capture_active);
  CHECK(code_of([&] { persistent.pack(stream, memory); }) == ErrorCode::capture_active);
  CHECK(context.counters().kernels_compiled == compiled);
  CHECK(driver->live("memory") == memory_before);
  driver->capture(stream, device::cuda::CaptureStatus::none);
  driver->global_capture(false);
}

TEST_CASE(
    "given the legacy stream or the thread's own, topology, pack and tools wait for it, and execute launches there") {
  const FakeNvrtc nvrtc;
  const FakeDriver driver(any_arguments);
  const Context context(
      {.device = "cuda:0", .cache = {.enabled = false}, .nvrtc = nvrtc.path, .log = [](LogLevel, std::string_view) {}});
  const Topology mask = some_mask(context);
  const SpmmPlan product = context.plan(Spmm{.n = 8, .math = Math::strict}, mask);
  const SpmmPlan persistent =
      context.plan(Spmm{.n = 8, .math = Math::strict, .value_lifetime = ValueLifetime::persistent}, mask);
  const Workspace workspace = product.make_workspace();
  alignas(16) float memory[1024] = {};
  const device::Buffer offsets(context.state()->session->device(), 25 * std::int64_t{sizeof(std::int32_t)});
  const CsrView empty{.rows = 24, .cols = 16, .row_offsets = offsets.as<std::int32_t>(), .nonzeros = 0};
  for (const auto& [stream, name] : {std::pair(legacy_stream, "legacy"), std::pair(per_thread_stream, "per thread")}) {
    CAPTURE(name);
    const auto calls_of = [&](const std::function<void()>& call) {
      const std::string before = driver->log();
      call();
      return std::string(driver->log()).substr(before.size());
    };
    const std::string record = std::string("cuEventRecord ") + name + "\ncuStreamWaitEvent own1\n";
    const std::string launch = std::string("cuLaunchKernelEx ") + name + "\n";
    CHECK(calls_of([&] { context.topology(empty, stream); }).find(record) != std::string::npos);
    CHECK(calls_of([&] { persistent.pack(stream, memory); }).find(record) != std::string::npos);
    CHECK(calls_of([&] { to_dense(mask, memory, {.data = memory + 512}, stream); }).find(launch) != std::string::npos);
    CHECK(calls_of([&] { make_mask(context, BandedMask{.rows = 4, .cols = 4}, stream); }).find(record) !=
          std::string::npos);
    const std::string launched = calls_of([&] {
      product.execute(stream, {.values = memory, .dense = memory, .output = memory + 512, .workspace = workspace});
    });
    CHECK(launched.find(launch) != std::string::npos);
    CHECK(launched.find("cuEvent") == std::string::npos);
  }
  const auto captured = driver->user_stream("captured");
  driver->capture(captured, device::cuda::CaptureStatus::active);
  const std::int64_t memory_before = driver->live("memory");
  CHECK(caught([&] { context.topology(empty, legacy_stream); }).code == ErrorCode::capture_active);
  CHECK(caught([&] { persistent.pack(legacy_stream, memory); }).code == ErrorCode::capture_active);
  const int launches = driver->calls("cuLaunchKernelEx");
  for (const Stream stream : {Stream{nullptr}, legacy_stream})
    CHECK(caught([&] { to_dense(mask, memory, {.data = memory + 512}, stream); }).code == ErrorCode::capture_active);
  CHECK(driver->calls("cuLaunchKernelEx") == launches);
  CHECK(driver->live("memory") == memory_before);
  some_mask(context);
  driver->capture(captured, device::cuda::CaptureStatus::none);
}
