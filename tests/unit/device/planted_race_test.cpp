// Planted races between CUDA threads. ThreadSanitizer sees them, because barriers and warp operations are the only
// order between fibers that it is told of. Each racy kernel stands beside the same kernel with its barrier.
#include <doctest/doctest.h>

#include <fcntl.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "unit/child_outcome.hpp"
#include "unit/device/emulator_harness.hpp"
#include "unit/self_process.hpp"

using namespace emulator_test;

namespace {

struct Args {
  int* memory;
  int* out;
};

struct Race {
  const char* name;
  std::string before, missing, after;  ///< the kernel's body; without `missing` it races
  unsigned blocks = 1;
  unsigned threads = 64;
};

std::string log_of(const Race& race, bool planted, Order order) {
  const ChildOutcome outcome = in_child([&] {
    Bench bench({.text = "struct Args { int* memory; int* out; };\nstruct Shared { int values[64]; };\n"
                         "__global__ void kernel(const __grid_constant__ Args args) {\n"
                         "  int i = threadIdx.x; int* values = vostok::dynamic_shared<Shared>().values;\n" +
                         race.before + (planted ? "" : race.missing) + race.after + "}\n",
                 .templates = {"parts/shared_address.h", "parts/async_copy.h", "parts/shared.h"},
                 .shared_bytes = 256},
                {.order = order});
    std::vector<int> memory(64, 0);
    std::vector<int> out(64 * race.blocks, 0);
    bench.launch({race.blocks}, {race.threads}, Args{memory.data(), out.data()});
  });
  CHECK(outcome.finished);
  CHECK_FALSE(outcome.threw);
  return outcome.log;
}

const std::vector<Race>& races() {
  static const std::vector<Race> all = {
      {.name = "a barrier is missing",
       .before = "values[i] = i;\n",
       .missing = "__syncthreads();\n",
       .after = "args.out[i] = values[63 - i];\n"},
      {.name = "a barrier is missing at the end of a loop",
       .before = "for (int round = 0; round < 3; ++round) {\nvalues[i] = i + round;\n__syncthreads();\nargs.out[i] += "
                 "values[63 - i];\n",
       .missing = "__syncthreads();\n",
       .after = "}\n"},
      {.name = "a __syncwarp is missing",
       .before = "values[i] = i;\n",
       .missing = "__syncwarp();\n",
       .after = "args.out[i] = values[i ^ 31];\n"},
      {.name = "a __syncwarp is missing at the end of a loop",
       .before = "for (int round = 0; round < 3; ++round) {\nvalues[i] = i + round;\n__syncwarp();\nargs.out[i] += "
                 "values[i ^ 1];\n",
       .missing = "__syncwarp();\n",
       .after = "}\n"},
      {.name = "a __syncwarp stands where threads of other warps are read",
       .before = "values[i] = i;\n__syncwarp();\n",
       .missing = "__syncthreads();\n",
       .after = "args.out[i] = values[63 - i];\n"},
      {.name = "blocks write one place",
       .before = "if (",
       .missing = "blockIdx.x == 0 && ",
       .after = "i == 0) args.memory[0] = 1;\n",
       .blocks = 16,
       .threads = 1},
      {.name = "a barrier is missing after copies, of which each block makes another number",
       .before = "for (unsigned copy = 0; copy <= 4 * blockIdx.x; ++copy) vostok::copy_async<4>(values + i, "
                 "args.memory + i);\n"
                 "vostok::commit_async();\nvostok::wait_async<0>();\n",
       .missing = "__syncthreads();\n",
       .after = "args.out[64 * blockIdx.x + i] = values[63 - i];\n",
       .blocks = 16},
      {.name = "an atomic is missing",
       .before = "",
       .missing = "atomicAdd(args.memory, 1); if (i < 0)\n",
       .after = "args.memory[0] += 1;\n"},
  };
  return all;
}

constexpr const char* alone = "VOSTOK_PLANTED_RACES_ALONE";

/// The case in a process that runs nothing else. Where another case has loaded a driver, which starts threads,
/// ThreadSanitizer sees nothing in the children that this process forks.
void run_alone() {
  const vostok::TemporaryFolder folder;
  const std::string file = (folder / "output").string();
  const int output = open(file.c_str(), O_WRONLY | O_CREAT, 0600);  // NOLINT(cppcoreguidelines-pro-type-vararg): POSIX
  REQUIRE(output >= 0);
  std::vector<std::string> variables = {std::string(alone) + "=1"};
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  const int status = vostok::test::exit_status(
      vostok::test::start_self(variables, output, {"--test-case=planted: races between threads*"}));
  close(output);
  std::ifstream text(file);
  const std::string log((std::istreambuf_iterator<char>(text)), std::istreambuf_iterator<char>());
  CHECK_MESSAGE(status == 0, log);
  CHECK_MESSAGE(contains(log, "1 passed"), log);
}

}  // namespace

TEST_CASE("planted: races between threads are reported with their line, and only they") {
  if (!has_thread_sanitizer) {
    MESSAGE("skipped: races are seen by ThreadSanitizer, in a build with VOSTOK_SANITIZE=thread");
    return;
  }
  if (std::getenv(alone) == nullptr) return run_alone();
  for (const Race& race : races())
    for (const Order order : {orders[0], orders[2]}) {
      CAPTURE(race.name);
      CAPTURE(describe(order));
      const std::string clean = log_of(race, false, order);
      CHECK_MESSAGE(clean.empty(), clean);
      const std::string log = log_of(race, true, order);
      CHECK_MESSAGE(contains(log, "data race"), log);
      CHECK_MESSAGE(contains(log, "test.h:"), log);
    }
}
