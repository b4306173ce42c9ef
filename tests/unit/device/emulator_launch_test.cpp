#include <doctest/doctest.h>

#include <numeric>
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
