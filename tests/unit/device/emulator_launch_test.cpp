#include <doctest/doctest.h>

#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

TEST_CASE("every thread of every block runs once in every order") {
  struct Args {
    int* counts;
    int* places;
  };
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = "struct Args { int* counts; int* places; };\n"
                         "__global__ void kernel(const __grid_constant__ Args args) {\n"
                         "  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
                         "  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
                         "  int i = block * blockDim.x * blockDim.y * blockDim.z + thread;\n"
                         "  atomicAdd(args.counts + i, 1);\n"
                         "  args.places[i] = i;\n"
                         "}\n"},
                {.order = order});
    std::vector<int> counts(3 * 5 * 2 * 4 * 3 * 2, 0);
    std::vector<int> places(counts.size(), -1);
    bench.launch({3, 5, 2}, {4, 3, 2}, Args{counts.data(), places.data()});
    CHECK(counts == std::vector<int>(counts.size(), 1));
    std::vector<int> expected(counts.size());
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(places == expected);
  }
}

namespace {

struct CountArgs {
  int* count;
};
const TestKernel count_kernel = {.text =
                                     "struct Args { int* count; };\n__global__ void kernel(const __grid_constant__ "
                                     "Args args) { atomicAdd(args.count, 1); }\n"};

/// The device_failure of a launch of this shape.
std::string refusal(Bench& bench, const vostok::device::LaunchShape& shape,
                    std::size_t argument_bytes = sizeof(CountArgs)) {
  int count = 0;
  const CountArgs args{&count};
  try {
    bench.device().launch(nullptr, bench.kernel(), shape, &args, argument_bytes);
  } catch (const vostok::Error& error) {
    CHECK(error.code() == vostok::ErrorCode::device_failure);
    CHECK(count == 0);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a launch that no GPU would take is refused with its values") {
  Bench bench(count_kernel);
  CHECK(contains(refusal(bench, {.grid = {1}, .block = {1025}}), "a block of 1025 threads"));
  CHECK(contains(refusal(bench, {.grid = {1}, .block = {0}}), "a block of 0 threads"));
  CHECK(contains(refusal(bench, {.grid = {0}, .block = {32}}), "a grid of 0 x 1 x 1 blocks"));
  CHECK(contains(refusal(bench, {.grid = {1, 65536}, .block = {32}}), "a grid of 1 x 65536 x 1 blocks"));
  CHECK(contains(refusal(bench, {.grid = {1}, .block = {32}, .shared_bytes = 49153}),
                 "49153 bytes of shared memory, it was loaded for 49152"));
  CHECK(contains(refusal(bench, {.grid = {1}, .block = {32}}, 4), "4 bytes of arguments given, its parameter has 8"));
  CHECK(refusal(bench, {.grid = {1}, .block = {1024}, .shared_bytes = 49152}).empty());
}

TEST_CASE("a launch of clusters is refused: the emulator runs blocks one by one") {
  Bench bench(count_kernel);
  CHECK(contains(refusal(bench, {.grid = {1, 2}, .block = {32}, .cluster = 2}), "no clusters of blocks"));
}

TEST_CASE("a kernel that needs more shared memory than a block has cannot be loaded") {
  Bench bench(count_kernel);
  const auto image = bench.device().compiler().compile(
      {.family = "count", .text = count_kernel.text, .expression = "kernel", .headers = {}, .architecture = {}});
  CHECK_NOTHROW(bench.device().load(image, bench.device().max_shared_bytes()));
  CHECK_THROWS_AS(bench.device().load(image, bench.device().max_shared_bytes() + 1), vostok::Error);
}

TEST_CASE("a recorded sequence runs at each replay and not before") {
  Bench bench(count_kernel);
  vostok::device::Device& device = bench.device();
  const vostok::device::Buffer count(device, 4);
  int calls = 0;
  const auto sequence = device.record([&](vostok::Stream stream) {
    ++calls;
    CHECK(device.is_capturing(stream));
    device.fill(stream, count.data(), 0, 4);
    const CountArgs args{count.as<int>()};
    for (int i = 0; i < 3; ++i) device.launch(stream, bench.kernel(), {.grid = {2}, .block = {32}}, &args, sizeof args);
  });
  CHECK(calls == 1);
  CHECK(*count.as<int>() == -1);
  for (int i = 0; i < 2; ++i) {
    CHECK(sequence->replay_us() > 0);
    CHECK(*count.as<int>() == 192);
  }
  CHECK(calls == 1);
  CHECK_FALSE(device.is_capturing(nullptr));
}

TEST_CASE("the emulator says what it is and has a large GPU's limits") {
  Bench bench(count_kernel);
  vostok::device::Device& device = bench.device();
  CHECK(device.architecture() == "emulator");
  CHECK_FALSE(device.info().gpu);
  CHECK(contains(device.info().name, "emulator"));
  CHECK(device.info().multiprocessors > 0);
  CHECK(device.max_shared_bytes() == 232448);
  CHECK_FALSE(device.clocks().has_value());
  CHECK(device.occupancy(bench.kernel(), 256, 0) == 8);
  CHECK(device.occupancy(bench.kernel(), 32, 0) == 32);
  CHECK(device.occupancy(bench.kernel(), 33, 0) == 32);
  CHECK(device.occupancy(bench.kernel(), 256, 100000) == 2);
  CHECK(device.occupancy(bench.kernel(), 256, 232449) == 0);
  CHECK(device.occupancy(bench.kernel(), 1025, 0) == 0);
}

TEST_CASE("how far a launch has come is told while it runs") {
  struct Args {
    int* go;
  };
  Bench bench({.text = "struct Args { int* go; };\n"
                       "__global__ void kernel(const __grid_constant__ Args args) { while (__atomic_load_n(args.go, "
                       "__ATOMIC_ACQUIRE) == 0) {} }\n"});
  const auto before = bench.device().progress();
  REQUIRE(before);
  CHECK(before->ended == 0);
  CHECK_FALSE(before->share);
  int go = 0;
  std::thread launching([&] { bench.launch({1000}, {1}, Args{&go}); });
  std::optional<vostok::device::LaunchProgress> seen;
  do seen = bench.device().progress();
  while (!seen->share || *seen->share == 0);
  CHECK(seen->ended == 0);
  CHECK(*seen->share < 0.1);
  __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
  launching.join();
  CHECK(bench.device().progress()->ended == 1);
  CHECK_FALSE(bench.device().progress()->share);
}
