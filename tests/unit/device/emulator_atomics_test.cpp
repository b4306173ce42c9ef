#include <doctest/doctest.h>

#include <vector>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

TEST_CASE("atomics of every kind and type are right over all blocks in every order") {
  struct Args {
    int* ints;
    unsigned* unsigneds;
    unsigned long long* longs;
    float* floats;
  };
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = "struct Args { int* ints; unsigned* unsigneds; unsigned long long* longs; float* floats; };\n"
                         "template <class T> __device__ void all(T* at, T mine) {\n"
                         "  atomicAdd(at + 0, mine);\n"
                         "  atomicMin(at + 1, mine);\n"
                         "  atomicMax(at + 2, mine);\n"
                         "  T old = atomicCAS(at + 3, mine, mine), seen;\n"
                         "  while ((seen = atomicCAS(at + 3, old, old + mine)) != old) old = seen;\n"
                         "  atomicOr(at + 4, mine);\n"
                         "  atomicSub(at + 5, mine);\n"
                         "}\n"
                         "__global__ void kernel(const __grid_constant__ Args args) {\n"
                         "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "  all(args.ints, (int)i);\n"
                         "  all(args.unsigneds, i);\n"
                         "  all(args.longs, (unsigned long long)i << 32);\n"
                         "  atomicAdd(args.floats, 1.0f);\n"
                         "  if (atomicExch(args.floats + 1, 2.0f) != 2.0f) atomicAdd(args.floats + 2, 1.0f);\n"
                         "}\n"},
                {.order = order});
    std::vector<int> ints = {0, 5000, -1, 0, 0, 0};
    std::vector<unsigned> unsigneds = {0, 5000, 0, 0, 0, 0};
    std::vector<unsigned long long> longs = {0, ~0ULL, 0, 0, 0, 0};
    std::vector<float> floats = {0, 0, 0};
    bench.launch({16}, {64}, Args{ints.data(), unsigneds.data(), longs.data(), floats.data()});
    CHECK(ints == std::vector<int>{523776, 0, 1023, 523776, 1023, -523776});
    CHECK(unsigneds == std::vector<unsigned>{523776, 0, 1023, 523776, 1023, 0U - 523776});
    const unsigned long long unit = 1ULL << 32;
    CHECK(longs == std::vector<unsigned long long>{523776 * unit, 0, 1023 * unit, 523776 * unit, 1023 * unit,
                                                   0 - 523776 * unit});
    CHECK(floats == std::vector<float>{1024, 2, 1});
  }
}

TEST_CASE("the block that finishes last sees what the others wrote before their fence") {
  struct Args {
    int* partial;
    unsigned* ticket;
    int* sum;
  };
  for (const Order order : orders) {
    CAPTURE(describe(order));
    Bench bench({.text = "struct Args { int* partial; unsigned* ticket; int* sum; };\n"
                         "__global__ void kernel(const __grid_constant__ Args args) {\n"
                         "  args.partial[blockIdx.x] = blockIdx.x + 1;\n"
                         "  __threadfence();\n"
                         "  unsigned before = atomicAdd(args.ticket, 1u);\n"
                         "  __threadfence();\n"
                         "  if (before + 1 != gridDim.x) return;\n"
                         "  for (unsigned i = 0; i < gridDim.x; ++i) *args.sum += args.partial[i];\n"
                         "}\n"},
                {.order = order});
    std::vector<int> partial(50, 0);
    unsigned ticket = 0;
    int sum = 0;
    bench.launch({50}, {1}, Args{partial.data(), &ticket, &sum});
    CHECK(sum == 1275);
  }
}
