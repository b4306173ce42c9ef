// What the tool's doctor says of packed problems.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cache/database.hpp"
#include "cli/pack.hpp"
#include "cli/problem_check.hpp"
#include "cli/problem_file.hpp"
#include "unit/cli/pack_fixture.hpp"
#include "unit/cli/tool_process.hpp"

using namespace vostok;
using namespace vostok::cli;
using namespace vostok::cli::testing;
namespace fs = std::filesystem;

TEST_CASE(
    "doctor tells that new values cannot be packed where the kernel for that is not stored, though the problem can be "
    "planned") {
  const TemporaryFolder folder;
  const fs::path problems =
      folder.write("problems.txt", "spmm --random 24x40x0.5 --n 8 --family row_tile --value-lifetime persistent\n");
  fs::create_directories(folder / "cache");
  const fs::path code = folder / "cache" / "code.db";
  pack({.like = {"emulator"}, .problems = problems, .out = code, .cache = folder / "none"});
  const auto lines = read_problem_file(problems);
  const ProblemCheck whole = check_problems(lines, "emulator", (folder / "cache").string());
  CAPTURE(check_text(whole));
  CHECK(whole.complete());
  CHECK(contains(check_text(whole), "packing new values: stored"));

  cache::Connection(code, cache::Access::read_write, cache::tool_lock_timeout_ms)
      .execute("DELETE FROM code WHERE family = 'gather'");
  const ProblemCheck lacking = check_problems(lines, "emulator", (folder / "cache").string());
  CHECK_FALSE(lacking.complete());
  CHECK(contains(check_text(lacking), "packing new values: missing: vostok::gather"));
  CHECK(contains(check_text(lacking), "plan: compiles nothing; packing new values has to compile"));
  const auto object = nlohmann::json::parse(check_json(lacking));
  CHECK(object["complete"] == false);
  CHECK(object["problems"][0]["plans_without_compiler"] == true);
  CHECK(object["problems"][0]["packs_without_compiler"] == false);
  CHECK(object["problems"][0]["missing_kernels"].size() == 1);
}

TEST_CASE(
    "doctor lists what problems lack on a GPU that is not here, also where nothing is stored, and that they lack "
    "nothing once it is packed") {
  const TemporaryFolder folder;
  const FakeNvrtc nvrtc;
  const fs::path problems =
      folder.write("problems.txt", "spmm --random 64x48x0.8 --n 8\nsddmm --random 64x48x0.8 --n 8\n");
  const fs::path cache = folder / "cache";
  const auto check = [&] { return check_problems(read_problem_file(problems), "compile:NVIDIA H200", cache.string()); };
  const ProblemCheck empty = check();
  for (const CheckedProblem& problem : empty.problems) {
    CHECK(problem.error == "");
    CHECK_FALSE(problem.plans_without_compiler());
    CHECK_FALSE(problem.survey.missing_kernels().empty());
    REQUIRE_FALSE(problem.survey.missing_forms.empty());
    CHECK(contains(problem.survey.missing_forms.front(), "check_rows"));
  }
  fs::create_directories(cache);
  pack({.like = {"NVIDIA H200"},
        .problems = problems,
        .out = cache / "code.db",
        .cache = folder / "none",
        .nvrtc = nvrtc.path});
  CHECK(check().complete());
}
