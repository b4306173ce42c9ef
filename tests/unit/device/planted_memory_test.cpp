// Planted bugs of memory: accesses out of bounds end a process, so they run in a child; uninitialised and not yet
// arrived data show in the results.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/emulator/host_compiler.hpp"
#include "unit/child_outcome.hpp"
#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;
using vostok::device::emulator::Guard;

namespace {

struct Args {
  float* memory;
  float* out;
  long long at;
};

const char* const args_text = "struct Args { float* memory; float* out; long long at; };\n";

vostok::device::Image compiled(const TestKernel& kernel) {
  return compile(*vostok::device::emulator::open_host_compiler(), kernel);
}

vostok::device::Image global_access(bool write) {
  return compiled({.text = std::string(args_text) + "__global__ void kernel(const __grid_constant__ Args args) {\n" +
                           (write ? "  args.memory[args.at] = 1;\n" : "  *args.out = args.memory[args.at];\n") +
                           "}\n"});
}

/// What happens when one thread accesses element `at` of `count` floats.
ChildOutcome access_global(const vostok::device::Image& image, long long at, std::int64_t count, Guard guard) {
  return in_child([&] {
    Bench bench(image, 0, {.guard = guard});
    const vostok::device::Buffer memory(bench.device(), count * 4);
    float out = 0;
    bench.launch({}, {1}, Args{memory.as<float>(), &out, at});
  });
}

/// What happens when element `at` of shared memory is written that the launch makes `bytes` long.
ChildOutcome access_shared(const vostok::device::Image& image, long long at, std::int64_t bytes) {
  return in_child([&] {
    Bench bench(image, bytes, {});
    float out = 0;
    bench.launch({}, {1}, Args{nullptr, &out, at});
  });
}

void check_clean(const ChildOutcome& outcome) {
  CAPTURE(outcome.log);
  CHECK(outcome.finished);
  CHECK_FALSE(outcome.threw);
}

void check_fault(const ChildOutcome& outcome) {
  CAPTURE(outcome.log);
  CHECK_FALSE(outcome.finished);
  if (has_address_sanitizer) CHECK(contains(outcome.log, "AddressSanitizer"));
}

}  // namespace

TEST_CASE("planted: an access past the end of device memory faults") {
  for (const bool write : {false, true}) {
    const auto image = global_access(write);
    check_clean(access_global(image, 63, 64, Guard::end));
    check_fault(access_global(image, 64, 64, Guard::end));
    check_fault(access_global(image, 1024, 1000, Guard::end));
    check_clean(access_global(image, 0, 64, Guard::end));
    // 63 elements end 4 bytes before the guard; AddressSanitizer sees the gap.
    check_fault(access_global(image, has_address_sanitizer ? 63 : 64, 63, Guard::end));
  }
}

TEST_CASE("planted: an access out of bounds is reported after other kernels were unloaded") {
  const auto image = global_access(true);
  const auto with_table =
      compiled({.text = std::string(args_text) +
                        "__device__ float table[64];\n"
                        "__global__ void kernel(const __grid_constant__ Args args) { table[args.at] = *args.out; }\n"});
  const ChildOutcome outcome = in_child([&] {
    std::vector<std::unique_ptr<Bench>> unloaded(
        32);  // at once, so that the next kernel does not take all their places
    for (auto& other : unloaded) other = std::make_unique<Bench>(with_table, 0, vostok::device::emulator::Settings{});
    unloaded.clear();
    Bench bench(image, 0, {.guard = Guard::end});
    const vostok::device::Buffer memory(bench.device(), 64 * 4);
    float out = 0;
    bench.launch({}, {1}, Args{memory.as<float>(), &out, 64});
  });
  check_fault(outcome);
}

TEST_CASE("planted: an access before the start of device memory faults when the guard is there") {
  for (const bool write : {false, true}) {
    const auto image = global_access(write);
    check_clean(access_global(image, 0, 63, Guard::start));
    check_fault(access_global(image, -1, 63, Guard::start));
    if (has_address_sanitizer) check_fault(access_global(image, -1, 63, Guard::end));
  }
}

TEST_CASE("planted: an access past the end of shared memory faults") {
  const auto image =
      compiled({.text = std::string(args_text) + "struct Shared { float values[4]; };\n"
                                                 "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                 "  float* values = vostok::dynamic_shared<Shared>().values;\n"
                                                 "  values[args.at] = 1;\n"
                                                 "  __syncthreads();\n"
                                                 "  *args.out = values[args.at];\n"
                                                 "}\n",
                .templates = {"parts/shared.h"}});
  check_clean(access_shared(image, 3, 16));
  check_fault(access_shared(image, 4, 16));
  check_clean(access_shared(image, 99, 400));
  check_fault(access_shared(image, 100, 400));
  if (has_address_sanitizer) {
    check_fault(access_shared(image, -1, 16));
    check_fault(access_shared(image, 5, 20));
  }
}

TEST_CASE("planted: a launch with less shared memory than the kernel's type is an error") {
  Bench bench({.text = std::string(args_text) + "struct Shared { float values[512]; };\n"
                                                "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                "  vostok::dynamic_shared<Shared>().values[0] = 1;\n"
                                                "}\n",
               .templates = {"parts/shared.h"},
               .shared_bytes = 2044});
  const std::string text = bench.failure(32, Args{});
  CAPTURE(text);
  CHECK(contains(text, "the launch gives fewer bytes of shared memory than the kernel's shared type has, at test.h:4"));
}

TEST_CASE("planted: shared memory that was never written reads as NaN in every block") {
  Bench bench({.text = std::string(args_text) +
                       "struct Shared { float values[64]; };\n"
                       "__global__ void kernel(const __grid_constant__ Args args) {\n"
                       "  Shared& shared = vostok::dynamic_shared<Shared>();\n"
                       "  if (threadIdx.x % 2 == 0) shared.values[threadIdx.x] = 1;\n"
                       "  __syncthreads();\n"
                       "  args.out[blockIdx.x * 64 + threadIdx.x] = shared.values[63 - threadIdx.x];\n"
                       "}\n",
               .templates = {"parts/shared.h"},
               .shared_bytes = 256});
  std::vector<float> out(10 * 64, 0);
  bench.launch({10}, {64}, Args{nullptr, out.data(), 0});
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(std::isnan(out[i]) == (i % 2 == 0));
}

TEST_CASE("planted: device memory that was never written reads as NaN") {
  Bench bench({.text = std::string(args_text) + "__global__ void kernel(const __grid_constant__ Args args) { "
                                                "args.out[threadIdx.x] = args.memory[threadIdx.x]; }\n"});
  const vostok::device::Buffer memory(bench.device(), 128);
  std::vector<float> out(32, 0);
  bench.launch({}, {32}, Args{memory.as<float>(), out.data(), 0});
  for (const float value : out) CHECK(std::isnan(value));
}

TEST_CASE("planted: data of an asynchronous copy that is read before its wait is not there") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = std::string(args_text) + "struct Shared { float values[2]; };\n"
                                                  "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                  "  float* values = vostok::dynamic_shared<Shared>().values;\n"
                                                  "  vostok::copy_async<4>(values, args.memory);\n"
                                                  "  vostok::commit_async();\n"
                                                  "  vostok::copy_async<4>(values + 1, args.memory + 1);\n"
                                                  "  vostok::commit_async();\n"
                                                  "  __syncthreads();\n"
                                                  "  args.out[0] = values[0];\n"
                                                  "  vostok::wait_async<1>();\n"
                                                  "  args.out[1] = values[0], args.out[2] = values[1];\n"
                                                  "  vostok::wait_async<0>();\n"
                                                  "  args.out[3] = values[1];\n"
                                                  "}\n",
                 .templates = {"parts/shared.h", "parts/shared_address.h", "parts/async_copy.h"},
                 .shared_bytes = 8},
                {.order = order});
    std::vector<float> memory = {5, 6};
    std::vector<float> out(4, 0);
    bench.launch({}, {1}, Args{memory.data(), out.data(), 0});
    CHECK(std::isnan(out[0]));
    CHECK(out[1] == 5);
    CHECK(std::isnan(out[2]));
    CHECK(out[3] == 6);
  }
}

TEST_CASE("planted: a vector access that is not aligned traps") {
  if (contains(vostok::device::emulator::open_host_compiler()->identity(), "clang")) {
    MESSAGE("skipped: clang does not check the copy of a whole vector, only g++ does");
    return;
  }
  const auto load = [](long long at) {
    return in_child([=] {
      Bench bench({.text = std::string(args_text) +
                           "__global__ void kernel(const __grid_constant__ Args args) {\n"
                           "  float4 v = *reinterpret_cast<const float4*>(args.memory + args.at);\n"
                           "  *args.out = v.x + v.y + v.z + v.w;\n}\n"});
      const vostok::device::Buffer memory(bench.device(), 64);
      float out = 0;
      bench.launch({}, {1}, Args{memory.as<float>(), &out, at});
    });
  };
  check_clean(load(4));
  const ChildOutcome outcome = load(2);
  CAPTURE(outcome.log);
  CHECK_FALSE(outcome.finished);
}

TEST_CASE("planted: an asynchronous copy that is not aligned is an error") {
  Bench bench({.text = std::string(args_text) +
                       "struct Shared { alignas(16) float values[8]; };\n"
                       "__global__ void kernel(const __grid_constant__ Args args) {\n"
                       "  vostok::copy_async<16>(vostok::dynamic_shared<Shared>().values + 2, args.memory);\n"
                       "}\n",
               .templates = {"parts/shared.h", "parts/shared_address.h", "parts/async_copy.h"},
               .shared_bytes = 32});
  alignas(16) float memory[4] = {};
  CHECK(contains(bench.failure(1, Args{memory, nullptr, 0}), "a copy_async is not aligned to its size"));
}
