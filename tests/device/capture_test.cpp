// Streams, capture and lifetimes on real GPUs; the emulator has none of them.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "base/temporary_folder.hpp"
#include "device/spmm_operands.hpp"
#include "device/user_stream.hpp"

using namespace vostok;
using test::code_of;
using test::on_every_gpu;
using test::SpmmOperands;
using test::UserStream;

namespace {

Context disk_context(const std::string& device, const std::filesystem::path& folder) {
  return Context(Options{.device = device, .cache = {.folder = folder}, .log = [](LogLevel, std::string_view) {}});
}

}  // namespace

TEST_CASE("execute works in a capture, plan and topology refuse it") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    UserStream stream(primary.driver());
    const Context context = test::memory_context(name);
    const SpmmOperands operands(context, sparse::uniform(128, 128, 0.8, 1), 64, 2);
    const Topology topology = context.topology(operands.csr.view());
    const SpmmPlan plan = context.plan(Spmm{.n = 64}, topology);
    stream.begin_capture();
    plan.execute(stream.get(), operands.arguments());
    CHECK(code_of([&] { context.plan(Spmm{.n = 32}, topology, {.stream = stream.get()}); }) ==
          ErrorCode::capture_active);
    CHECK(code_of([&] { context.topology(operands.csr.view(), stream.get()); }) == ErrorCode::capture_active);
    stream.end_capture();
    stream.replay();
    CHECK(operands.error(stream.get()) <= operands.tolerance());
  });
}

TEST_CASE("one thread captures in global mode and replays while another plans from disk") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    UserStream stream(primary.driver());
    const TemporaryFolder folder;
    const Context owner = test::memory_context(name);  // of the operands' memory
    const SpmmOperands operands(owner, sparse::uniform(256, 256, 0.9, 3), 64, 4);
    {  // What the planning thread will find on disk.
      const Context first = disk_context(name, folder.path());
      const Topology topology = first.topology(operands.csr.view());
      for (const std::int64_t n : {16, 32, 48, 64, 80, 96}) first.plan(Spmm{.n = n}, topology);
    }

    const Context context = disk_context(name, folder.path());
    const Topology topology = context.topology(operands.csr.view());
    const SpmmPlan plan = context.plan(Spmm{.n = 64}, topology);
    std::atomic<bool> stop = false;
    std::atomic<int> planned = 0;
    std::exception_ptr failure;  // read once `failed` says that it is there
    std::atomic<bool> failed = false;
    std::jthread planner([&] {
      try {
        while (!stop) {
          const Context fresh = disk_context(name, folder.path());
          const Topology other = fresh.topology(sparse::uniform(256, 256, 0.9, 3).view());
          for (const std::int64_t n : {16, 32, 48, 64, 80, 96}) fresh.plan(Spmm{.n = n}, other), ++planned;
          CHECK(fresh.counters().kernels_compiled == 0);
        }
      } catch (...) {
        failure = std::current_exception();
        failed = true;
      }
    });

    while (planned < 6 && !failed) std::this_thread::yield();
    // Until both have been at work for long enough, whichever of them is slower on this machine.
    for (int round = 0; round < 200 || (planned <= 6 && !failed); ++round) {
      stream.begin_capture();
      for (int i = 0; i < 5; ++i) plan.execute(stream.get(), operands.arguments());
      stream.end_capture();
      stream.replay();
    }
    stream.synchronize();
    stop = true;
    planner.join();
    if (failure) std::rethrow_exception(failure);
    CHECK(planned > 6);
    CHECK(operands.error(stream.get()) <= operands.tolerance());
  });
}

TEST_CASE("a thousand plans and topologies are destroyed right after execute") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    const UserStream stream(primary.driver());
    const Context context = test::memory_context(name);
    // Long enough that the queue is never empty when the handles go.
    const SpmmOperands operands(context, sparse::uniform(2048, 2048, 0.9, 5), 256, 6);
    SpmmArguments arguments = operands.arguments();
    Workspace workspace;  // the user's: it stays
    std::int64_t compiled = 0;
    for (int i = 0; i < 1000; ++i) {
      const Topology topology = context.topology(operands.csr.view());
      const SpmmPlan plan = context.plan(Spmm{.n = 256}, topology);
      if (i == 0) {
        workspace = plan.make_workspace();
        arguments.workspace = workspace;
        compiled = context.counters().kernels_compiled;
      }
      plan.execute(stream.get(), arguments);
    }
    CHECK(operands.error(stream.get()) <= operands.tolerance());
    CHECK(compiled > 0);
    CHECK(context.counters().kernels_compiled == compiled);
  });
}

TEST_CASE("a thousand executes in a row and in one graph give the same bits") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    UserStream stream(primary.driver());
    const Context context = test::memory_context(name);
    const SpmmOperands operands(context, sparse::uniform(512, 512, 0.9, 7), 96, 8);
    const SpmmPlan plan = context.plan(Spmm{.n = 96}, context.topology(operands.csr.view()));
    plan.execute(stream.get(), operands.arguments());
    const double error = operands.error(stream.get());
    for (int i = 0; i < 1000; ++i) plan.execute(stream.get(), operands.arguments());
    CHECK(operands.error(stream.get()) == error);
    stream.begin_capture();
    for (int i = 0; i < 1000; ++i) plan.execute(stream.get(), operands.arguments());
    stream.end_capture();
    stream.replay();
    CHECK(operands.error(stream.get()) == error);
  });
}

TEST_CASE("execute makes its context current and restores what was") {
  on_every_gpu([](const std::string& name, const device::cuda::CudaContext& primary) {
    const Context context = test::memory_context(name);
    const SpmmOperands operands(context, sparse::uniform(64, 64, 0.8, 9), 32, 10);
    const SpmmPlan plan = context.plan(Spmm{.n = 32}, context.topology(operands.csr.view()));
    const auto& driver = primary.driver();
    driver.require("clear the current context", driver.cuCtxSetCurrent, device::cuda::ContextHandle{nullptr});
    plan.execute(nullptr, operands.arguments());
    device::cuda::ContextHandle current = primary.handle();
    driver.require("read the current context", driver.cuCtxGetCurrent, &current);
    CHECK(current == nullptr);
    driver.require("restore the context", driver.cuCtxSetCurrent, primary.handle());
    test::device_of(context).synchronize(nullptr);
    CHECK(operands.error() <= operands.tolerance());
  });
}
