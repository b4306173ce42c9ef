// Planted bugs of control flow: each is an error that says where, and never a hang.
#include <doctest/doctest.h>

#include <string>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;

namespace {

struct Args {
  int* out;
};

/// `body` stands from line 2 of test.h on.
std::string failure_of(const std::string& body, Order order, unsigned threads = 64) {
  Bench bench({.text = "struct Args { int* out; }; __global__ void kernel(const __grid_constant__ Args args) { int i = "
                       "threadIdx.x;\n" +
                       body + "\n}\n"},
              {.order = order});
  int out[64] = {};
  const std::string text = bench.failure(threads, Args{out});
  // The device and its workers go on after a failed block.
  CHECK(bench.failure(threads, Args{out}) == text);
  return text;
}

}  // namespace

TEST_CASE("planted: two different barriers are divergent") {
  for (const Order order : orders) {
    const std::string text = failure_of("if (i < 40) __syncthreads();\nelse __syncthreads();", order);
    CAPTURE(text);
    CHECK(contains(text, "cannot run kernel test.h: block (0, 0, 0): divergent barriers: thread "));
    CHECK(contains(text, "test.h:2"));
    CHECK(contains(text, "test.h:3"));
  }
}

TEST_CASE("planted: two different barriers on one line are divergent") {
  const std::string text = failure_of("if (i < 40) __syncthreads(); else __syncthreads_or(i);", orders[0]);
  CHECK(contains(text, "divergent barriers: thread 0 waits at the barrier of test.h:2, thread 40 at that of test.h:2"));
}

TEST_CASE("planted: a barrier that some threads skip by returning") {
  for (const Order order : orders) {
    const std::string text = failure_of("if (i == 3 || i > 60) return;\n__syncthreads();", order);
    CHECK(contains(text, "block (0, 0, 0): a barrier waits for exited threads: "));
    CHECK(contains(text, "threads 3, 61-63 have exited"));
    CHECK(contains(text, "threads 0-2, 4-60 wait at the barrier of test.h:3"));
  }
}

TEST_CASE("planted: a shuffle with a lane that has exited") {
  for (const Order order : orders) {
    const std::string text = failure_of("if (i == 37) return;\nargs.out[i] = __shfl_sync(0xffffffffu, i, 0);", order);
    CHECK(contains(text, "missing lanes in a warp operation: "));
    CHECK(contains(text, "37 ha"));
    CHECK(contains(text, "threads 32-36, 38-63 wait in the shuffle of test.h:3 with mask 0xffffffff"));
  }
}

TEST_CASE("planted: a vote in a branch that some lanes do not take") {
  for (const Order order : orders) {
    const std::string text =
        failure_of("if (i < 8) args.out[i] = __any_sync(0xffffffffu, i);\n__syncthreads();", order, 32);
    CHECK(contains(text, "missing lanes in a warp operation: "));
    CHECK(contains(text, "threads 0-7 wait in the vote of test.h:2 with mask 0xffffffff"));
    CHECK(contains(text, "threads 8-31 wait at the barrier of test.h:3"));
  }
}

TEST_CASE("planted: lanes that name different masks for one operation") {
  for (const Order order : orders) {
    const std::string text =
        failure_of("args.out[i] = __shfl_sync(i < 16 ? 0xffffffffu : 0xfffffff0u, i, 20);", order, 32);
    CHECK(contains(text, "mismatched masks: "));
    CHECK(contains(text, "threads 0-15 wait in the shuffle of test.h:2 with mask 0xffffffff"));
    CHECK(contains(text, "threads 16-31 wait in the shuffle of test.h:2 with mask 0xfffffff0"));
  }
}

TEST_CASE("planted: a lane that is not in its own mask") {
  const std::string text = failure_of("__syncwarp(0xfffffffeu);", orders[0], 32);
  CHECK(contains(text, "thread 0: its lane 0 is not in its own mask 0xfffffffe, at test.h:2"));
}

TEST_CASE("planted: two different shuffles in the branches of one warp") {
  for (const Order order : orders) {
    const std::string text = failure_of(
        "if (i < 16) args.out[i] = __shfl_sync(0xffffffffu, i, 0);\nelse args.out[i] = __shfl_sync(0xffffffffu, i, 1);",
        order, 32);
    CHECK(contains(text,
                   "divergent warp operations: thread 0 waits in the one of test.h:2, thread 16 in that of test.h:3"));
  }
}

TEST_CASE("planted: threads that wait for each other at a barrier and in a warp operation") {
  const std::string text = failure_of("if (i % 32 == 5) __syncthreads();\n__syncwarp();\n__syncthreads();", orders[2]);
  CHECK(contains(text, "missing lanes in a warp operation: "));
  CHECK(contains(text, "threads 5, 37 wait at the barrier of test.h:2"));
}

TEST_CASE("planted: __trap names its thread and line") {
  CHECK(contains(failure_of("if (i == 9) __trap();", orders[0]), "thread 9: __trap was reached, at test.h:2"));
}

TEST_CASE("a failure of one block of many is reported once and names the block") {
  Bench bench({.text =
                   "struct Args { int* out; };\n__global__ void kernel(const __grid_constant__ Args) {\n"
                   "  if (blockIdx.x == 70 && blockIdx.y == 1 && threadIdx.x == 2) return;\n  __syncthreads();\n}\n"});
  try {
    bench.launch({100, 2}, {32}, Args{nullptr});
    FAIL("the launch succeeded");
  } catch (const vostok::Error& error) {
    CHECK(contains(error.what(), "block (70, 1, 0): a barrier waits for exited threads: thread 2 ha"));
  }
}
