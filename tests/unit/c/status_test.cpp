// Every status, where it comes from, and the texts that a thread borrows.
#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

#include "unit/c/fixture.hpp"
#include "unit/child_outcome.hpp"
#include "unit/device/cuda_fixture.hpp"
#include "unit/device/fake_cuda/fake_nvrtc.hpp"

using namespace vostok;
using test::check_refused;
using test::FakeDriver;
using test::VariableScope;

namespace {

/// It does not ask how large kernels' arguments are.
constexpr const char* any_arguments = "fake_cuda_old.so";

/// Its compiles give what the fake driver loads.
struct FakeNvrtc {
  FakeNvrtc() { controls->give_output("FAKE lowered 64"); }
  ~FakeNvrtc() { controls->reset(); }
  std::string path = test::beside_executable("fake_nvrtc.so");
  const fake::NvrtcControls* controls = test::controls_of<fake::GetNvrtcControls>(path, "fake_nvrtc_controls");
};

vostok_options cuda_options(const FakeNvrtc& nvrtc) {
  vostok_options options = test::quiet_options();
  options.device = "cuda:0";
  options.nvrtc = nvrtc.path.c_str();
  return options;
}

void check_no_context(const vostok_options& options, vostok_status wanted, const std::string& part) {
  auto* context = reinterpret_cast<vostok_context*>(&wanted);
  check_refused(vostok_context_create(&options, &context), wanted, part);
  CHECK(context == nullptr);
}

void check_no_plan(const test::COfContext& context, const test::COfTopology& topology, vostok_status wanted,
                   const std::string& part, void* stream = nullptr) {
  const vostok_spmm problem = test::spmm_of(4);
  vostok_plan_options options;
  vostok_plan_options_init(&options, sizeof options);
  options.stream = stream;
  auto* plan = reinterpret_cast<vostok_plan*>(&wanted);
  check_refused(vostok_plan_spmm(context.get(), topology.get(), &problem, &options, &plan), wanted, part);
  CHECK(plan == nullptr);
}

}  // namespace

TEST_CASE("invalid_argument: a device that none is called, and fields without sense") {
  vostok_options options = test::quiet_options();
  options.device = "toaster";
  check_no_context(options, VOSTOK_INVALID_ARGUMENT, "toaster");
  options = test::quiet_options();
  options.allocate = [](int64_t, void*) -> void* { return nullptr; };
  check_no_context(options, VOSTOK_INVALID_ARGUMENT, "both or not at all");
  options = test::quiet_options();
  options.read_only_count = 1;
  check_no_context(options, VOSTOK_INVALID_ARGUMENT, "read_only is no list of 1");
  const char* const keys[] = {nullptr};
  options = test::quiet_options();
  options.trusted_keys = keys;
  options.trusted_key_count = 1;
  check_no_context(options, VOSTOK_INVALID_ARGUMENT, "trusted_keys[0] is NULL");
}

TEST_CASE(
    "invalid_topology, misaligned_pointer, out_of_memory, io_failure, wrong_device and format_mismatch: by the calls "
    "that C++ has") {
  const test::COfContext context = test::open();
  const test::SmallMatrix matrix;
  vostok_csr csr = matrix.csr();
  const std::int32_t outside[] = {0, 2, 9};
  csr.column_indices = outside;
  vostok_topology* none = nullptr;
  check_refused(vostok_topology_create(context.get(), &csr, nullptr, &none), VOSTOK_INVALID_TOPOLOGY, "9");
  csr.row_offset_bytes = 3;
  check_refused(vostok_topology_create(context.get(), &csr, nullptr, &none), VOSTOK_INVALID_ARGUMENT,
                "row_offset_bytes = 3");

  const test::COfTopology topology = test::small_topology(context);
  const test::COfPlan plan = test::plan_of(context, topology, test::spmm_of(4));
  alignas(16) float memory[64] = {};
  const vostok_spmm_arguments misaligned = test::arguments_of(memory + 1, memory + 16, memory + 32);
  check_refused(vostok_execute_spmm(plan.get(), nullptr, &misaligned), VOSTOK_MISALIGNED_POINTER, "values");

  vostok_array* array = nullptr;
  check_refused(vostok_array_create(context.get(), std::int64_t{1} << 60, &array), VOSTOK_OUT_OF_MEMORY,
                "1152921504606846976");
  check_refused(vostok_array_create(context.get(), -1, &array), VOSTOK_INVALID_ARGUMENT, "bytes = -1");
  vostok_packed* packed = nullptr;
  check_refused(vostok_packed_load(context.get(), topology.get(), "junk", 4, &packed), VOSTOK_IO_FAILURE, "memory");

  const test::COfContext other = test::open();
  check_no_plan(other, topology, VOSTOK_WRONG_DEVICE, "");

  vostok_spmm problem = test::spmm_of(4);
  problem.value_lifetime = VOSTOK_VALUE_LIFETIME_PERSISTENT;
  const test::COfPlan packing = test::plan_of(context, topology, problem);
  const auto values = test::made<test::COfPacked>(
      [&](vostok_packed** out) { return vostok_plan_pack(packing.get(), nullptr, memory, out); });
  const test::COfTopology twin = test::small_topology(context);
  const test::COfPlan of_twin = test::plan_of(context, twin, problem);
  vostok_spmm_arguments arguments = test::arguments_of(nullptr, memory + 16, memory + 32);
  arguments.packed = values.get();
  check_refused(vostok_execute_spmm(of_twin.get(), nullptr, &arguments), VOSTOK_FORMAT_MISMATCH, "packed");
}

TEST_CASE("no_device, capture_active and device_failure: over a driver that does as the test says") {
  {
    const VariableScope none("VOSTOK_LIBCUDA", "/nonexistent/libcuda.so.1");
    vostok_options options = test::quiet_options();
    options.device = "cuda:0";
    check_no_context(options, VOSTOK_NO_DEVICE, "/nonexistent/libcuda.so.1");
    options.device = "auto";
    options.allow_emulator = 0;
    check_no_context(options, VOSTOK_NO_DEVICE, "allow_emulator");
  }
  const FakeNvrtc nvrtc;
  const FakeDriver driver(any_arguments);
  const test::COfContext context = test::open(cuda_options(nvrtc));
  const test::COfTopology topology = test::small_topology(context);
  const test::COfPlan plan = test::plan_of(context, topology, test::spmm_of(4));
  const auto stream = driver->user_stream("captured");
  driver->capture(stream, device::cuda::CaptureStatus::active);
  check_no_plan(context, topology, VOSTOK_CAPTURE_ACTIVE, "captured", stream);
  float host = 0;
  check_refused(vostok_copy_to_host(context.get(), &host, &host, 4, stream), VOSTOK_CAPTURE_ACTIVE, "captured");
  check_refused(vostok_copy_to_device(context.get(), &host, &host, 4, stream), VOSTOK_CAPTURE_ACTIVE, "captured");
  check_refused(vostok_topology_read(topology.get(), &host, &host, 4, stream), VOSTOK_CAPTURE_ACTIVE, "captured");
  driver->capture(stream, device::cuda::CaptureStatus::none);

  alignas(16) float memory[64] = {};
  const vostok_spmm_arguments arguments = test::arguments_of(memory, memory + 16, memory + 32);
  driver->fail("cuLaunchKernelEx", 0, 1, static_cast<unsigned>(device::cuda::Result::launch_failed));
  check_refused(vostok_execute_spmm(plan.get(), nullptr, &arguments), VOSTOK_DEVICE_FAILURE, "cuLaunchKernelEx failed");
}

TEST_CASE("no_compiler, missing_kernel, missing_choice and compile_failed: where plans lack something") {
  const FakeDriver driver(any_arguments);
  {
    vostok_options options = test::quiet_options();
    options.device = "cuda:0";
    options.nvrtc = "/nonexistent/libnvrtc.so";
    const test::COfContext context = test::open(options);
    const test::COfTopology topology = test::small_topology(context);
    check_no_plan(context, topology, VOSTOK_NO_COMPILER, "/nonexistent/libnvrtc.so");
  }
  {
    const FakeNvrtc nvrtc;
    nvrtc.controls->end_compiles(1, device::cuda::NvrtcResult::compilation, "error: planted");
    const test::COfContext context = test::open(cuda_options(nvrtc));
    const test::COfTopology topology = test::small_topology(context);
    check_no_plan(context, topology, VOSTOK_COMPILE_FAILED, "planted");
  }
  {
    vostok_options options = test::quiet_options();
    options.compile = VOSTOK_COMPILE_POLICY_NEVER;
    const test::COfContext context = test::open(options);
    check_no_plan(context, test::small_topology(context), VOSTOK_MISSING_KERNEL, "");
  }
  vostok_options options = test::quiet_options();
  options.cache_only = 1;
  const test::COfContext context = test::open(options);
  check_no_plan(context, test::small_topology(context), VOSTOK_MISSING_CHOICE, "");
}

TEST_CASE("after_fork: in a child of the process that made the context") {
  const test::COfContext context = test::open();
  const test::COfTopology topology = test::small_topology(context);
  const test::ChildOutcome outcome = test::in_child([&] {
    vostok_array* array = nullptr;
    if (vostok_array_create(context.get(), 4, &array) != VOSTOK_AFTER_FORK) throw std::runtime_error("array was made");
    vostok_plan* plan = nullptr;
    const vostok_spmm problem = test::spmm_of(4);
    if (vostok_plan_spmm(context.get(), topology.get(), &problem, nullptr, &plan) != VOSTOK_AFTER_FORK)
      throw std::runtime_error("plan was made");
    float memory[2] = {};
    if (vostok_copy_to_host(context.get(), memory, memory + 1, 4, nullptr) != VOSTOK_AFTER_FORK)
      throw std::runtime_error("copied");
    if (vostok_topology_read(topology.get(), memory, memory, 4, nullptr) != VOSTOK_AFTER_FORK)
      throw std::runtime_error("read");
  });
  CHECK_MESSAGE(outcome.finished, outcome.log);
  CHECK_MESSAGE(!outcome.threw, outcome.log);
}

TEST_CASE("internal: what a callback throws in spite of the rule ends as a status") {
  const test::COfContext context = test::open();
  const test::COfTopology topology = test::small_topology(context);
  vostok_plan_options options;
  vostok_plan_options_init(&options, sizeof options);
  options.effort = VOSTOK_EFFORT_QUICK;
  const vostok_spmm problem = test::spmm_of(4);
  vostok_plan* plan = nullptr;
  options.progress = [](const char*, void*) { throw std::runtime_error("the caller's own"); };
  check_refused(vostok_plan_spmm(context.get(), topology.get(), &problem, &options, &plan), VOSTOK_INTERNAL,
                "the caller's own");
  options.progress = [](const char*, void*) { throw 1; };
  check_refused(vostok_plan_spmm(context.get(), topology.get(), &problem, &options, &plan), VOSTOK_INTERNAL,
                "no exception of the library");
  options.progress = [](const char*, void*) { throw std::bad_alloc(); };
  check_refused(vostok_plan_spmm(context.get(), topology.get(), &problem, &options, &plan), VOSTOK_OUT_OF_MEMORY,
                "out of host memory");
}

TEST_CASE("each thread has a last failure of its own, which a call that goes well leaves alone") {
  vostok_context* context = nullptr;
  vostok_options options = test::quiet_options();
  options.device = "toaster";
  vostok_context_create(&options, &context);
  std::string other = "unset";
  std::thread([&] {
    other = vostok_last_error();
    vostok_context_reload(nullptr);
    other += vostok_last_error();
  }).join();
  CHECK(other == "cannot use argument context: it is NULL");
  CHECK(test::contains(vostok_last_error(), "toaster"));
  test::open();
  CHECK(test::contains(vostok_last_error(), "toaster"));
}

TEST_CASE("a borrowed text stays until the thread's next call that returns one, and failures do not touch it") {
  const test::COfContext context = test::open();
  const test::COfTopology topology = test::small_topology(context);
  const test::COfPlan plan = test::plan_of(context, topology, test::spmm_of(4));
  const char* const family = vostok_plan_family(plan.get());
  const std::string copy = family;
  CHECK_FALSE(copy.empty());
  vostok_context_reload(nullptr);
  std::thread([&] { vostok_plan_explain(plan.get(), VOSTOK_DETAIL_CHOICE); }).join();
  CHECK(copy == family);
  CHECK(vostok_plan_explain(plan.get(), 2) == nullptr);
  CHECK(test::contains(vostok_last_error(), "detail = 2"));
}

TEST_CASE("answers without a status tell of a failure by their value, and why by the last error") {
  CHECK(vostok_plan_operation(nullptr) == -1);
  CHECK(vostok_plan_workspace_bytes(nullptr) == -1);
  CHECK(vostok_plan_saved_bytes(nullptr) == -1);
  CHECK(vostok_plan_packed_bytes(nullptr) == -1);
  CHECK(vostok_plan_provenance(nullptr) == -1);
  CHECK(vostok_packed_bytes(nullptr) == -1);
  CHECK(vostok_plan_family(nullptr) == nullptr);
  CHECK(vostok_plan_config(nullptr) == nullptr);
  CHECK(vostok_packed_format(nullptr) == nullptr);
  CHECK(test::contains(vostok_last_error(), "packed: it is NULL"));
  CHECK(vostok_array_bytes(nullptr) == 0);
  CHECK(vostok_array_data(nullptr) == nullptr);
  CHECK(vostok_bytes_size(nullptr) == 0);
  CHECK(vostok_bytes_data(nullptr) == nullptr);
}
