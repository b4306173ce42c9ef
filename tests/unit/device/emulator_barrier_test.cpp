#include <doctest/doctest.h>

#include <numeric>
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

TEST_CASE("a tree reduction in shared memory is right in every order") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = std::string(args_text) + "struct Shared { int sums[256]; };\n"
                                                  "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                  "  Shared& shared = vostok::dynamic_shared<Shared>();\n"
                                                  "  int i = threadIdx.x;\n"
                                                  "  shared.sums[i] = args.in[blockIdx.x * 256 + i];\n"
                                                  "  for (int half = 128; half > 0; half /= 2) {\n"
                                                  "    __syncthreads();\n"
                                                  "    if (i < half) shared.sums[i] += shared.sums[i + half];\n"
                                                  "  }\n"
                                                  "  if (i == 0) args.out[blockIdx.x] = shared.sums[0];\n"
                                                  "}\n",
                 .templates = {"parts/shared.h"},
                 .shared_bytes = 1024},
                {.order = order});
    std::vector<int> in(256 * 9);
    std::iota(in.begin(), in.end(), -100);
    std::vector<int> out(9, -1);
    bench.launch({9}, {256}, Args{in.data(), out.data()});
    for (std::size_t block = 0; block < out.size(); ++block)
      CHECK(out[block] == std::accumulate(in.begin() + static_cast<std::ptrdiff_t>(256 * block),
                                          in.begin() + static_cast<std::ptrdiff_t>(256 * block + 256), 0));
  }
}

TEST_CASE("barriers count, join and meet the predicates of all threads in every order") {
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = std::string(args_text) + "__global__ void kernel(const __grid_constant__ Args args) {\n"
                                                  "  int mine = args.in[threadIdx.x];\n"
                                                  "  int* out = args.out + 6 * threadIdx.x;\n"
                                                  "  out[0] = __syncthreads_count(mine);\n"
                                                  "  out[1] = __syncthreads_or(mine);\n"
                                                  "  out[2] = __syncthreads_and(mine);\n"
                                                  "  out[3] = __syncthreads_or(0);\n"
                                                  "  out[4] = __syncthreads_and(5);\n"
                                                  "  out[5] = __syncthreads_count(threadIdx.x == 7);\n"
                                                  "}\n"},
                {.order = order});
    std::vector<int> in(100, 0);
    for (std::size_t i = 0; i < in.size(); i += 3) in[i] = 4;
    std::vector<int> out(600, -1);
    bench.launch({}, {100}, Args{in.data(), out.data()});
    for (std::size_t thread = 0; thread < 100; ++thread) {
      const std::vector<int> got(out.begin() + static_cast<std::ptrdiff_t>(6 * thread),
                                 out.begin() + static_cast<std::ptrdiff_t>(6 * thread + 6));
      CHECK(got == std::vector<int>{34, 1, 0, 0, 1, 1});
    }
  }
}

TEST_CASE("the order of threads is the one asked for and changes at every barrier") {
  const auto turns = [](Order order) {
    Bench bench({.text = std::string(args_text) +
                         "__global__ void kernel(const __grid_constant__ Args args) {\n"
                         "  for (int round = 0; round < 3; ++round) {\n"
                         "    args.out[64 * round + atomicAdd(args.out + 192 + round, 1)] = threadIdx.x;\n"
                         "    __syncthreads();\n"
                         "  }\n"
                         "}\n"},
                {.order = order});
    std::vector<int> out(195, 0);
    bench.launch({}, {64}, Args{nullptr, out.data()});
    std::vector<std::vector<int>> rounds;
    for (std::ptrdiff_t round = 0; round < 3; ++round)
      rounds.emplace_back(out.begin() + 64 * round, out.begin() + 64 * round + 64);
    return rounds;
  };
  std::vector<int> ascending(64);
  std::iota(ascending.begin(), ascending.end(), 0);
  const std::vector<int> descending(ascending.rbegin(), ascending.rend());
  CHECK(turns(orders[0]) == std::vector<std::vector<int>>(3, ascending));
  CHECK(turns(orders[1]) == std::vector<std::vector<int>>(3, descending));
  const auto seeded = turns(orders[2]);
  CHECK(seeded[0] != ascending);
  CHECK(seeded[0] != seeded[1]);
  CHECK(seeded[1] != seeded[2]);
  CHECK(turns(orders[2]) == seeded);
  CHECK(turns(orders[3]) != seeded);
}
