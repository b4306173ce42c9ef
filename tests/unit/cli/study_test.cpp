#include <doctest/doctest.h>

#include "sparse/text_file.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {
namespace {

constexpr const char* valid = "3, 4, 5\n0 2 3 5\n0 1 2 0 3\n";

TEST_CASE("a study prints each file and the set, and writes a table and a picture") {
  const Tool tool;
  std::filesystem::create_directories(tool.folder() / "set/deep");
  tool.folder().write("set/b.smtx", valid);
  tool.folder().write("set/deep/a.smtx", "2, 2, 0\n0 0 0\n\n");
  tool.folder().write("set/readme.txt", "not a matrix");
  const std::string out = (tool.folder() / "results/study").string();
  const Outcome outcome = tool.run({"study", (tool.folder() / "set").string(), "--out", out});
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "b.smtx"));
  CHECK(contains(outcome.output, "a.smtx"));
  CHECK_FALSE(contains(outcome.output, "readme.txt"));
  CHECK(contains(outcome.output, "2 matrices"));
  CHECK(contains(sparse::read_bytes(out + "/study.csv"), "b.smtx,3,4,5,"));
  CHECK(contains(sparse::read_bytes(out + "/study.svg"), "<svg"));
}

TEST_CASE("unreadable files are reported at the end, and nothing else is lost") {
  const Tool tool;
  const std::string good = tool.folder().write("good.smtx", valid).string();
  const std::string bad = tool.folder().write("bad.smtx", "3, 4, 5\n0 2").string();
  const std::string absent = (tool.folder() / "absent.mtx").string();
  const std::string out = (tool.folder() / "out").string();
  const Outcome outcome = tool.run({"study", bad, absent, good, "--out", out});
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.output, "good.smtx"));
  CHECK(contains(outcome.errors, "bad.smtx"));
  CHECK(contains(outcome.errors, "absent.mtx"));
  CHECK(contains(sparse::read_bytes(out + "/study.csv"), "good.smtx"));
}

TEST_CASE("a study of nothing writes nothing and exits with 2") {
  const Tool tool;
  std::filesystem::create_directories(tool.folder() / "empty");
  const std::string out = (tool.folder() / "out").string();
  const Outcome outcome = tool.run({"study", (tool.folder() / "empty").string(), "--out", out});
  CHECK(outcome.status == 2);
  CHECK(outcome.output.empty());
  CHECK(contains(outcome.errors, "no .smtx, .mtx, .npy (each also as .gz) or .npz file"));
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("a folder that cannot be written makes the status 2 after the table") {
  const Tool tool;
  const std::string good = tool.folder().write("good.smtx", valid).string();
  const Outcome outcome = tool.run({"study", good, "--out", good + "/below"});
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.output, "good.smtx"));
  CHECK(contains(outcome.errors, "cannot make the folder"));
}

}  // namespace
}  // namespace vostok::cli::testing
