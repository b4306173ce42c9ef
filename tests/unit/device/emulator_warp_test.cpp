#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

struct Args {
  int* out;
};
const char* const args_text = "struct Args { int* out; };\n";

/// What lane gets of a shuffle within segments of `width`, by the words of the CUDA programming guide.
int source_of(const std::string& kind, int lane, int operand, int width) {
  const int segment = lane / width * width;
  const int within = lane % width;
  if (kind == "") return segment + (operand % width + width) % width;
  if (kind == "up") return within - operand >= 0 ? lane - operand : lane;
  if (kind == "down") return within + operand < width ? lane + operand : lane;
  const int other = lane ^ operand;
  return other < segment + width ? other : lane;
}

}  // namespace

TEST_CASE("shuffles of every kind, type and width move what the guide says") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    for (const std::string kind : {"", "up", "down", "xor"}) {
      CAPTURE(kind);
      const std::string call = "__shfl_" + kind + (kind.empty() ? "" : "_") + "sync(0xffffffffu, ";
      Bench bench({.text = std::string(args_text) +
                           "__global__ void kernel(const __grid_constant__ Args args) {\n"
                           "  int lane = threadIdx.x % 32;\n"
                           "  int* out = args.out + threadIdx.x * 6 * 9 * 4;\n"
                           "  for (int width = 1; width <= 32; width *= 2)\n"
                           "    for (int operand = 0; operand < 9; ++operand) {\n"
                           "      *out++ = " +
                           call +
                           "lane, operand, width);\n"
                           "      *out++ = (int)" +
                           call +
                           "(unsigned)lane, operand, width);\n"
                           "      *out++ = (int)" +
                           call +
                           "(float)lane, operand, width);\n"
                           "      *out++ = (int)(" +
                           call +
                           "(unsigned long long)lane << 40, operand, width) >> 40);\n"
                           "    }\n"
                           "}\n"},
                  {.order = order});
      std::vector<int> out(64 * 6 * 9 * 4, -1);
      bench.launch({}, {64}, Args{out.data()});
      std::vector<int> expected;
      for (int thread = 0; thread < 64; ++thread)
        for (int width = 1; width <= 32; width *= 2)
          for (int operand = 0; operand < 9; ++operand)
            expected.insert(expected.end(), 4, source_of(kind, thread % 32, operand, width));
      CHECK(out == expected);
    }
  }
}

TEST_CASE("votes tell every lane of the mask the same in every order") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = std::string(args_text) + "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                  "  int lane = threadIdx.x;\n"
                                                  "  int* out = args.out + 5 * lane;\n"
                                                  "  out[0] = (int)__ballot_sync(0xffffffffu, lane % 3 == 0);\n"
                                                  "  out[1] = __any_sync(0xffffffffu, lane == 17);\n"
                                                  "  out[2] = __all_sync(0xffffffffu, lane < 32);\n"
                                                  "  out[3] = __all_sync(0xffffffffu, lane != 17);\n"
                                                  "  out[4] = __any_sync(0xffffffffu, lane > 31);\n"
                                                  "}\n"},
                {.order = order});
    std::vector<int> out(160, -1);
    bench.launch({}, {32}, Args{out.data()});
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::vector<int> got(out.begin() + static_cast<std::ptrdiff_t>(5 * lane),
                                 out.begin() + static_cast<std::ptrdiff_t>(5 * lane + 5));
      CHECK(got == std::vector<int>{0x49249249, 1, 1, 0, 0});
    }
  }
}

TEST_CASE("halves of a warp that diverge work on their own masks") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = std::string(args_text) +
                         "__global__ void kernel(const __grid_constant__ Args args) {\n"
                         "  int lane = threadIdx.x;\n"
                         "  int sum = lane;\n"
                         "  if (lane < 16) {\n"
                         "    for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0x0000ffffu, sum, d);\n"
                         "  } else {\n"
                         "    for (int d = 1; d < 16; d *= 2) sum += __shfl_xor_sync(0xffff0000u, sum, d);\n"
                         "  }\n"
                         "  __syncwarp();\n"
                         "  args.out[lane] = sum;\n"
                         "}\n"},
                {.order = order});
    std::vector<int> out(32, -1);
    bench.launch({}, {32}, Args{out.data()});
    CHECK(std::all_of(out.begin(), out.begin() + 16, [](int sum) { return sum == 120; }));
    CHECK(std::all_of(out.begin() + 16, out.end(), [](int sum) { return sum == 376; }));
  }
}

TEST_CASE("the last warp of a block may be partial") {
  Bench bench({.text = std::string(args_text) +
                       "__global__ void kernel(const __grid_constant__ Args args) {\n"
                       "  args.out[threadIdx.x] = (int)__ballot_sync(0xffffffffu, 1);\n"
                       "  args.out[40 + threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);\n"
                       "}\n"});
  std::vector<int> out(80, 7);
  bench.launch({}, {40}, Args{out.data()});
  CHECK(out[0] == -1);
  CHECK(out[32] == 0xff);
  CHECK(out[40 + 38] == 39);
  CHECK(out[40 + 39] == -1);  // lane 8 of the second warp does not exist
}

TEST_CASE("a warp hands data over through memory at __syncwarp, wherever it stands in the text") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = std::string(args_text) + "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                  "  int lane = threadIdx.x;\n"
                                                  "  args.out[lane] = lane * lane;\n"
                                                  "  if (lane % 2 == 0) __syncwarp();\n"
                                                  "  else __syncwarp(0xffffffffu);\n"
                                                  "  int other = args.out[31 - lane];\n"
                                                  "  __syncwarp();\n"
                                                  "  args.out[lane] = other;\n"
                                                  "}\n"},
                {.order = order});
    std::vector<int> out(32, -1);
    bench.launch({}, {32}, Args{out.data()});
    for (int lane = 0; lane < 32; ++lane) CHECK(out[static_cast<std::size_t>(lane)] == (31 - lane) * (31 - lane));
  }
}
