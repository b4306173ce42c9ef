// What plans share is compiled apart from families' own kernels, and with it a first plan compiles nothing else.
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/temporary_folder.hpp"
#include "cache/database.hpp"
#include "cli/matrix_source.hpp"
#include "cli/pack.hpp"
#include "cli/problem_file.hpp"
#include "error_code.hpp"
#include "ops/family.hpp"
#include "unit/cli/pack_fixture.hpp"

using namespace vostok;
using namespace vostok::cli;
using namespace vostok::cli::testing;

namespace {

namespace fs = std::filesystem;

const fs::path shipped_problems = fs::path(VOSTOK_SOURCE_FOLDER) / "cache/shipped/helpers.problems.txt";

/// The families that kernels of a file name.
std::set<std::string> families_in(const fs::path& code) {
  std::set<std::string> families;
  if (!fs::exists(code)) return families;
  cache::Connection connection(code, cache::Access::read_only, cache::tool_lock_timeout_ms);
  auto rows = connection.query("SELECT DISTINCT family FROM code");
  while (rows.step()) families.insert(rows.text(0));
  return families;
}

bool is_a_family(const std::string& name) {
  for (const std::string_view operation : ops::operations())
    if (ops::find_family(operation, name) != nullptr) return true;
  return false;
}

PackReport pack_helpers(const fs::path& problems, const fs::path& out) {
  const FakeNvrtc nvrtc;
  return pack({.like = {fake_gpu},
               .problems = problems,
               .helpers = true,
               .out = out,
               .cache = out.parent_path() / "none",
               .nvrtc = nvrtc.path});
}

}  // namespace

TEST_CASE(
    "the helpers that can be shipped are no family's own, and with them a first plan of another problem compiles "
    "nothing else") {
  const TemporaryFolder folder;
  const fs::path helpers = folder / "helpers.db";
  const PackReport report = pack_helpers(shipped_problems, helpers);
  for (const std::string& failure : report.failures) CHECK(failure == "");
  const std::set<std::string> shared = families_in(helpers);
  for (const char* name : {"check_columns", "scan", "sort_scatter", "pack_strips", "pack_sparse", "pack_runs",
                           "split_dense", "sample_operands", "gather"})
    CHECK(shared.contains(name));
  for (const std::string& name : shared) {
    CAPTURE(name);
    CHECK_FALSE(is_a_family(name));
  }

  const FakeNvrtc nvrtc;
  for (const std::string problem :
       {"spmm --random 1024x768x0.8 --n 128",
        "spmm --random 3000x1000x0.95 --n 512 --dtype f16 --value-lifetime persistent",
        "spmm --random 4096x4096x0.9 --n 16 --dtype bf16 --value-lifetime persistent",
        "spmm --random 512x512x0.97x1.4 --n 2 --transpose", "spmm --random 300x80000x0.99 --n 64 --dtype f16",
        "sddmm --random 1024x1024x0.9 --n 128", "sddmm --random 700x500x0.6 --n 4096 --dtype f16",
        "softmax --random 2048x4096x0.95 --dtype bf16", "attention --random 1024x1024x0.9 --n 64 --batch 2"}) {
    CAPTURE(problem);
    const fs::path cache = folder / std::to_string(std::hash<std::string>()(problem));
    const Context context(Options{.device = std::string("compile:") + fake_gpu,
                                  .cache = {.folder = cache, .read_only = {helpers}, .shipped = cache / "none"},
                                  .nvrtc = nvrtc.path});
    const ProblemLine line = std::move(read_problem_file(folder.write("problem.txt", problem)).front());
    const Loaded loaded = load(line.options, *line.job, context);
    line.job->plan(context, loaded.topology, line.options.plan);
    const std::set<std::string> compiled = families_in(cache / "code.db");
    CHECK_FALSE(compiled.empty());
    for (const std::string& name : compiled) {
      CAPTURE(name);
      CHECK(is_a_family(name));
    }
  }
}

TEST_CASE("helpers are of problems, and not of candidates") {
  const TemporaryFolder folder;
  const test::Caught error =
      test::caught([&] { pack({.like = {"NVIDIA H200"}, .helpers = true, .out = folder / "out.db"}); });
  CHECK(error.code == ErrorCode::invalid_argument);
  CHECK(error.says("--problems"));
}
