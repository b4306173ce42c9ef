#include <doctest/doctest.h>

#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

Arguments spmm(const Arguments& more) { return on_emulator("spmm", more); }

TEST_CASE("a random SpMM runs on the emulator and is verified") {
  const Tool tool;
  const Outcome outcome = tool.run(spmm({"--random", "96x64x0.8", "--n", "40"}));
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  for (const char* part : {"random 96x64x0.8, seed 1", "C[96,40] = A[96,64] B[64,40]", "emulator", "row_tile",
                           "2 compiled by this process", "GFLOP/s", "VERIFIED\n"}) {
    CAPTURE(std::string(part));
    CHECK(contains(outcome.output, part));
  }
}

TEST_CASE("the second run compiles no kernel") {
  const Tool tool;
  const auto arguments = spmm({"--random", "64x64x0.75", "--n", "16", "--json"});
  CHECK(json_of(tool.run(arguments))["compiled"] == 1);
  CHECK(json_of(tool.run(arguments))["compiled"] == 0);
}

TEST_CASE("--never-compile refuses what is not stored, by name, and runs what is") {
  const Tool tool;
  const auto arguments = spmm({"--random", "64x64x0.75", "--n", "16", "--json"});
  const auto stored_only = arguments + Arguments{"--never-compile"};
  const Outcome refused = tool.run(stored_only);
  CHECK(refused.status == 3);
  CHECK(contains(refused.errors, "row_tile"));
  CHECK(refused.output.empty());
  CHECK(json_of(tool.run(arguments))["compiled"] == 1);
  CHECK(json_of(tool.run(stored_only))["verified"] == true);
}

TEST_CASE("--cache names another folder for the caches") {
  const Tool tool;
  const auto arguments =
      spmm({"--random", "32x32x0.5", "--n", "4", "--json", "--cache", (tool.folder() / "other").string()});
  CHECK(json_of(tool.run(arguments))["compiled"] == 1);
  CHECK(std::filesystem::exists(tool.folder() / "other"));
  CHECK_FALSE(std::filesystem::exists(tool.folder() / "cache"));
}

TEST_CASE("effort quick tunes, tells its progress on stderr, and the choice is found again") {
  const Tool tool;
  const auto problem = spmm({"--random", "64x48x0.7", "--n", "24", "--json"});
  auto quick = problem;
  quick.insert(quick.end(), {"--effort", "quick", "--budget", "3"});
  const Outcome tuned = tool.run(quick);
  const auto object = json_of(tuned);
  CHECK(object["provenance"] == "tuned_here");
  CHECK(object["compiled"].get<int>() > 1);
  CHECK(contains(tuned.errors, "s left"));
  const auto again = json_of(tool.run(problem));
  CHECK(again["provenance"] == "tuned_here");
  CHECK(again["config"] == object["config"]);
  CHECK(again["compiled"] == 0);
}

TEST_CASE("--explain tells about candidates, and leaves --json one object") {
  const Tool tool;
  auto arguments = spmm({"--random", "32x32x0.5", "--n", "8", "--explain"});
  const Outcome text = tool.run(arguments);
  CHECK(text.status == 0);
  CHECK(contains(text.output, "  from: heuristic"));
  arguments.emplace_back("--json");
  const Outcome json = tool.run(arguments);
  CHECK(json_of(json)["verified"] == true);
  CHECK(contains(json.errors, "  from: heuristic"));
}

TEST_CASE("a damaged matrix is refused with file, place and value") {
  const Tool tool;
  const auto refuse = [&](const char* name, const char* content, const std::vector<std::string>& parts) {
    const std::string file = tool.folder().write(name, content).string();
    std::vector<std::string> all = {file};
    all.insert(all.end(), parts.begin(), parts.end());
    check_refused(tool.run(spmm({"--matrix", file, "--n", "8"})), all);
  };
  refuse("truncated.smtx", "3, 4, 5\n0 2 3 5\n0 1 2\n", {"column index"});
  refuse("not_monotone.smtx", "3, 4, 5\n0 3 2 5\n0 1 2 0 1\n", {"row", "2", "3"});
  refuse("out_of_range.smtx", "3, 4, 5\n0 2 3 5\n0 1 2 0 4\n", {"row 2", "4"});
  refuse("empty.smtx", "", {"rows"});
  refuse("truncated.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n", {"line"});
  refuse("bad.npy", "not numpy", {});
  refuse("matrix.txt", "1", {".smtx, .mtx, .npy"});
}

TEST_CASE("a missing file, a folder and an unknown device are refused") {
  const Tool tool;
  check_refused(tool.run(spmm({"--matrix", (tool.folder() / "absent.smtx").string(), "--n", "8"})), {"absent.smtx"});
  check_refused(tool.run(spmm({"--matrix", (tool.folder() / "").string(), "--n", "8"})), {});
  check_refused(tool.run({"run", "spmm", "--random", "4x4x0", "--n", "1", "--device", "cpu"}),
                {"\"cpu\" does not name one"});
}

TEST_CASE("wrong usage is refused with the option and where to read on") {
  const Tool tool;
  check_refused(tool.run({}), {"Try: vostok --help"});
  check_refused(tool.run({"fly"}), {"Try: vostok --help"});
  check_refused(tool.run(spmm({"--n", "8"})), {"--matrix", "--random"});
  check_refused(tool.run(spmm({"--random", "4x4x0"})), {"--n", "Try: vostok run spmm --help"});
  check_refused(tool.run(spmm({"--random", "4x4x0", "--n", "x"})), {"--n"});
  check_refused(tool.run(spmm({"--random", "4x4x0", "--n", "1", "--matrix", "a.smtx"})), {"--matrix", "--random"});
  check_refused(tool.run(spmm({"--random", "4x4", "--n", "1"})), {"'4x4'", "2048x512x0.9"});
  check_refused(tool.run(spmm({"--random", "4x4x0", "--n=-1"})), {"--n: -1 is less than 0"});
  check_refused(tool.run(spmm({"--random", "4x4x0", "--n", "1", "--effort", "hard"})),
                {"--effort", "'hard'", "heuristic, cached, quick, full"});
  check_refused(tool.run(spmm({"--random", "4x4x0", "--n", "1", "--budget", "nan"})),
                {"--budget: 'nan' is not a finite number of seconds"});
  check_refused(tool.run(spmm({"--random", "4x4x0", "--n", "1", "--budget=-1"})),
                {"--budget: -1 is less than 0 seconds"});
  check_refused(tool.run({"run"}), {"Try: vostok run --help"});
}

TEST_CASE("a batch of nothing runs, launches nothing and is right, by every operation") {
  const Tool tool;
  const Arguments masked = {"--random", "8x8x0.5", "--batch", "0", "--json"};
  for (const Arguments& line :
       {on_emulator("spmm", masked + Arguments{"--n", "4"}),
        on_emulator("spmm", masked + Arguments{"--n", "4", "--value-lifetime", "persistent"}),
        on_emulator("sddmm", masked + Arguments{"--n", "4"}), on_emulator("softmax", masked),
        on_emulator("softmax", masked + Arguments{"--backward"}),
        on_emulator("attention", masked + Arguments{"--n", "4"}),
        on_emulator("attention", masked + Arguments{"--n", "4", "--backward"}),
        on_emulator("bias", {"--rows", "4", "--columns", "4", "--batch", "0", "--json"}),
        on_emulator("depthwise", {"--channels", "2", "--height", "8", "--batch", "0", "--json"}),
        on_emulator("im2col", {"--channels", "2", "--height", "8", "--width", "8", "--batch", "0", "--json"})}) {
    CAPTURE(line[1]);
    const auto object = json_of(tool.run(line));
    CHECK(object["verified"] == true);
    CHECK(object["batch"] == 0);
    CHECK(object["median_us"].is_null());
  }
}

TEST_CASE("absurd sizes are refused before memory is asked for") {
  const Tool tool;
  check_refused(tool.run(spmm({"--random", "100000x100000x0.5", "--n", "1"})), {"nonzeros"});
  const Outcome outcome = tool.run(spmm({"--random", "1000000x1000000x1", "--n", "10000000"}));
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.errors, "GiB of host memory"));
  const Outcome overflow = tool.run(spmm({"--random", "1000000x1000000x1", "--n", "9223372036854775807"}));
  CHECK(overflow.status >= 2);
  CHECK(overflow.status < 128);
}

TEST_CASE("the real matrices: DLMC and a graph, whose symmetry is expanded and said") {
#ifdef VOSTOK_THREAD_SANITIZER
  MESSAGE("skipped: real matrices take ThreadSanitizer many minutes; the other builds run them");
  return;
#endif
  std::filesystem::path data;
  if (!sparse::testing::find_data(data)) return;
  const Tool tool;
  const auto layers =
      sparse::testing::files_below(data / "dlmc" / "transformer" / "magnitude_pruning" / "0.98", ".smtx");
  REQUIRE_FALSE(layers.empty());
  const auto layer = json_of(tool.run(spmm({"--matrix", layers.front().string(), "--n", "16", "--json"})));
  CHECK(layer["verified"] == true);
  const Outcome cora = tool.run(spmm({"--matrix", (data / "graphs" / "cora.mtx").string(), "--n", "16"}));
  CAPTURE(cora.errors);
  CHECK(cora.status == 0);
  CHECK(contains(cora.output, "symmetric, expanded"));
  CHECK(contains(cora.output, "VERIFIED\n"));
}

}  // namespace
}  // namespace vostok::cli::testing
