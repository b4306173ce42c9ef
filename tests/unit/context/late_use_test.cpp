// The library at the two ends of a program that are not main: a sink that uses it, and destructors of static objects.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <vostok/vostok.hpp>

#include "base/environment.hpp"
#include "base/temporary_folder.hpp"
#include "sparse/generate.hpp"
#include "unit/flushed_fork.hpp"

using namespace vostok;

namespace {

constexpr const char* late_variable = "VOSTOK_TEST_LATE_USE";
constexpr int worked = 42;

/// y = relu(x + 1) of three numbers on the emulator, and a product whose family is looked up among all.
bool plans_and_executes() {
  const Context context({.device = "emulator", .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});
  alignas(16) float x[4] = {1, -3, 2, 0}, bias[1] = {1}, y[4] = {};
  const BiasActivationPlan plan = context.plan(BiasActivation{.rows = 1, .columns = 4});
  plan.execute(nullptr, {.input = x, .bias = bias, .output = y});
  const Topology topology = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
  const SpmmPlan product = context.plan(Spmm{.n = 4, .math = Math::strict}, topology, {.family = "row_tile"});
  return product.family() == "row_tile" && !product.explain().text().empty() && y[0] == 2 && y[1] == 0 && y[2] == 3 &&
         y[3] == 1;
}

/// Made before main, and so before anything that the library keeps; goes after all of it.
struct LateUser {
  ~LateUser() {
    if (!environment(late_variable)) return;
    bool right = false;
    try {
      right = plans_and_executes();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "late use: %s\n", error.what());
    }
    std::_Exit(right ? worked : 1);
  }
};
const LateUser late_user;

}  // namespace

TEST_CASE("a plan is made and executed within main") { CHECK(plans_and_executes()); }

TEST_CASE("a static object's destructor may plan and execute after main") {
  const pid_t child = test::flushed_fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv(late_variable, "1", 1);
    // The case above uses what the library keeps, so that it would go first.
    ::execl("/proc/self/exe", "test_context", "-tc=a plan is made and executed within main",
            static_cast<char*>(nullptr));
    std::_Exit(127);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == worked);
}

TEST_CASE("a log sink may plan again with the context whose warning it is given, also under a look-up in the cache") {
  const TemporaryFolder folder;
  const Context* opened = nullptr;
  Topology topology;
  int planned = 0;
  const Context context(
      {.device = "emulator", .cache = {.folder = folder / "cache"}, .log = [&](LogLevel, std::string_view) {
         if (opened == nullptr || ++planned > 1) return;
         CHECK(opened->plan(Softmax{}, topology).family() != "");
         opened->export_cache();
       }});
  topology = context.topology(sparse::uniform(8, 8, 0.5, 1).view());
  opened = &context;
  context.reload();
  std::ofstream(folder / "cache" / "tuning.db", std::ios::trunc) << std::string(5000, 'z');
  context.plan(Softmax{}, topology);
  CHECK(planned > 0);
}
