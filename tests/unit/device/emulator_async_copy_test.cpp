#include <doctest/doctest.h>

#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {
struct Args {
  const int* in;
  int* out;
};
const char* const args_text = "struct Args { const int* in; int* out; };\n";
}  // namespace

TEST_CASE("a pipeline of asynchronous copies is right in every order") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = std::string(args_text) +
                         "struct Shared { alignas(16) int stages[3][128]; };\n"
                         "__global__ void kernel(const __grid_constant__ Args args) {\n"
                         "  Shared& shared = vostok::dynamic_shared<Shared>();\n"
                         "  int i = threadIdx.x, sum = 0;\n"
                         "  for (int stage = 0; stage < 2; ++stage) {\n"
                         "    vostok::copy_async<16>(&shared.stages[stage][4 * i], args.in + 128 * stage + 4 * i);\n"
                         "    vostok::commit_async();\n"
                         "  }\n"
                         "  for (int tile = 0; tile < 10; ++tile) {\n"
                         "    vostok::wait_async<1>();\n"
                         "    __syncthreads();\n"
                         "    if (tile + 2 < 10) vostok::copy_async<16>(&shared.stages[(tile + 2) % 3][4 * i], args.in "
                         "+ 128 * (tile + 2) + 4 * i);\n"
                         "    vostok::commit_async();\n"
                         "    for (int j = 0; j < 4; ++j) sum += shared.stages[tile % 3][(4 * i + 5 * j + 64) % 128] * "
                         "(tile + 1);\n"
                         "  }\n"
                         "  args.out[i] = sum;\n"
                         "}\n",
                 .templates = {"parts/shared.h", "parts/shared_address.h", "parts/async_copy.h"},
                 .shared_bytes = 3 * 128 * 4},
                {.order = order});
    vostok::device::Buffer in(bench.device(), 1280 * 4);
    for (int i = 0; i < 1280; ++i) in.as<int>()[i] = i * i;
    std::vector<int> out(32, -1);
    bench.launch({}, {32}, Args{in.as<int>(), out.data()});
    for (int i = 0; i < 32; ++i) {
      int sum = 0;
      for (int tile = 0; tile < 10; ++tile)
        for (int j = 0; j < 4; ++j) {
          const int at = 128 * tile + (4 * i + 5 * j + 64) % 128;
          sum += at * at * (tile + 1);
        }
      CHECK(out[static_cast<std::size_t>(i)] == sum);
    }
  }
}

TEST_CASE("an asynchronous copy of fewer bytes fills with zeros and reads no further") {
  Bench bench({.text = std::string(args_text) + "struct Shared { alignas(16) int words[4]; };\n"
                                                "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                "  Shared& shared = vostok::dynamic_shared<Shared>();\n"
                                                "  vostok::copy_async<16>(shared.words, args.in, 8);\n"
                                                "  vostok::commit_async();\n"
                                                "  vostok::wait_async<0>();\n"
                                                "  for (int i = 0; i < 4; ++i) args.out[i] = shared.words[i];\n"
                                                "}\n",
               .templates = {"parts/shared.h", "parts/shared_address.h", "parts/async_copy.h"},
               .shared_bytes = 16});
  vostok::device::Buffer in(bench.device(), 16);
  for (int i = 0; i < 4; ++i) in.as<int>()[i] = 5 + i;
  std::vector<int> out(4, -1);
  bench.launch({}, {1}, Args{in.as<int>(), out.data()});
  CHECK(out == std::vector<int>{5, 6, 0, 0});
}
