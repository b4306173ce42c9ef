#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "sparse/text_file.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {
namespace {

const std::string device_line =
    "device architecture=sm_90 id=d l2_bytes=62914560 memory_bytes=150754820096 multiprocessors=132 name=NVIDIA%20H200 "
    "uuid=GPU-1\n";
const std::string problem_line =
    "problem exact=operation=spmm id=p index_type=i32 k=256 longest_row=60 m=512 n=64 nonzeros=13107 operation=spmm "
    "policy=warm row_variation=0.25\n";

std::string trial_line(const std::string& tile_rows, const std::string& median_us, const std::string& digest,
                       const std::string& rounds = "15") {
  return "trial code_digest=" + digest + " config=tile_rows=" + tile_rows +
         " device=d driver=13.0 family=row_tile is_default=" + (tile_rows == "1" ? "1" : "0") +
         " measured_at=1700000000 median_us=" + median_us + " problem=p reason= registers=40 rounds=" + rounds +
         " shared_bytes=0 spill_bytes=0 spread_us=0.01 status=measured\n";
}

std::string winner_line(const std::string& tile_rows) {
  return "winner code_digest=c" + tile_rows + " config=tile_rows=" + tile_rows +
         " decided_at=1700000000 device=d driver=13.0 effort=full family=row_tile library_version=0.1.0 median_us=20 "
         "problem=p rounds=15\n";
}

std::string rows(const std::string& lines) { return "vostok tuning 1\n" + device_line + problem_line + lines; }

/// A tuning.db of these lines, made by the tool.
std::string database(const Tool& tool, const std::string& name, const std::string& lines) {
  const std::string text = tool.folder().write(name + ".txt", rows(lines)).string();
  const std::string file = (tool.folder() / (name + ".db")).string();
  const Outcome outcome = tool.run({"cache", "load", text, "--into", file});
  CAPTURE(outcome.errors);
  REQUIRE(outcome.status == 0);
  return file;
}

nlohmann::json json_of(const Tool& tool, std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return nlohmann::json::parse(tool.run(arguments).output);
}

TEST_CASE("what was loaded is listed, shown, and dumped as it was") {
  const Tool tool;
  const std::string lines = trial_line("1", "20", "c1") + trial_line("2", "10", "c2") + winner_line("1");
  const std::string file = database(tool, "a", lines);
  const std::string dumped = (tool.folder() / "dumped.txt").string();
  CHECK(tool.run({"cache", "dump", file, "--out", dumped}).status == 0);
  CHECK(tool.run({"cache", "dump", file}).output == sparse::read_bytes(dumped));
  CHECK(tool.run({"cache", "load", dumped, "--into", (tool.folder() / "b.db").string()}).status == 0);
  CHECK(tool.run({"cache", "dump", (tool.folder() / "b.db").string()}).output == sparse::read_bytes(dumped));

  const auto listed = json_of(tool, {"cache", "ls", file});
  CHECK(listed.at(0)["winners"] == 1);
  CHECK(listed.at(0)["trials"] == 2);
  const Outcome shown = tool.run({"cache", "show", file});
  CHECK(contains(shown.output, "row_tile tile_rows=1"));
  CHECK(contains(shown.output, "NVIDIA H200"));
  CHECK(tool.run({"cache", "show", file, "--operation", "sddmm"}).output == "no row matches\n");
  const auto trials = json_of(tool, {"cache", "show", file, "--trials"});
  REQUIRE(trials.size() == 2);
  CHECK(trials[0]["median_us"] == 10);
  CHECK(json_of(tool, {"cache", "show", file})[0]["config"]["tile_rows"] == "1");
}

TEST_CASE("without a file, a command works on the user's own cache") {
  const Tool tool;
  CHECK(tool.run({"cache", "ls"}).output == "there is no cache file yet\n");
  const std::string text = tool.folder().write("a.txt", rows(winner_line("4"))).string();
  REQUIRE(tool.run({"cache", "load", text}).status == 0);
  CHECK(contains(tool.run({"cache", "ls"}).output, (tool.folder() / "cache/tuning.db").string() + ": 1 winners"));
  CHECK(contains(tool.run({"cache", "show"}).output, "tile_rows=4"));
  CHECK(tool.run({"cache", "verify"}).status == 0);
}

TEST_CASE("merge gives the same bytes in either order, and refuses what does not go together") {
  const Tool tool;
  const std::string a = database(tool, "a", trial_line("2", "10", "c2") + winner_line("2"));
  const std::string b = database(tool, "b", trial_line("2", "9", "c2") + trial_line("4", "8", "c4") + winner_line("4"));
  const std::string ab = (tool.folder() / "ab.db").string();
  const std::string ba = (tool.folder() / "ba.db").string();
  REQUIRE(tool.run({"cache", "merge", a, b, "--out", ab}).status == 0);
  REQUIRE(tool.run({"cache", "merge", b, a, "--out", ba}).status == 0);
  CHECK(sparse::read_bytes(ab) == sparse::read_bytes(ba));
  CHECK(tool.run({"cache", "dump", ab}).output == tool.run({"cache", "dump", ba}).output);
  CHECK(json_of(tool, {"cache", "show", ab, "--trials"}).size() == 2);
  SUBCASE("a dump merges like its file") {
    REQUIRE(tool.run({"cache", "merge", (tool.folder() / "a.txt").string(), b, "--out", ba}).status == 0);
    CHECK(sparse::read_bytes(ab) == sparse::read_bytes(ba));
  }
  SUBCASE("a file that is none of ours") {
    const std::string other = tool.folder().write("other.db", "nothing of the kind").string();
    CHECK(tool.run({"cache", "merge", a, other, "--out", ba}).status == 2);
    CHECK(tool.run({"cache", "merge", a, (tool.folder() / "absent").string(), "--out", ba}).status == 2);
  }
}

TEST_CASE("rank chooses again, says what changes, and writes only where it is told to") {
  const Tool tool;
  const std::string file = database(
      tool, "a",
      trial_line("1", "20", "c1") + trial_line("2", "10", "c2") + trial_line("4", "10.1", "c4") + winner_line("1"));
  const std::string before = sparse::read_bytes(file);
  const Outcome outcome = tool.run({"cache", "rank", file});
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, "1 of 1 winners changed"));
  CHECK(sparse::read_bytes(file) == before);
  CHECK(json_of(tool, {"cache", "rank", file, "--policy", "cold"})["winners"] == 0);
  const std::string ranked = (tool.folder() / "ranked.db").string();
  const std::string again = (tool.folder() / "again.db").string();
  REQUIRE(tool.run({"cache", "rank", file, "--out", ranked}).status == 0);
  REQUIRE(tool.run({"cache", "rank", ranked, "--out", again}).status == 0);
  CHECK(sparse::read_bytes(ranked) == sparse::read_bytes(again));
  CHECK(json_of(tool, {"cache", "show", ranked})[0]["config"]["tile_rows"] == "2");
}

TEST_CASE("verify exits with 1 where something is wrong, and prune removes what is asked for") {
  const Tool tool;
  const std::string file =
      database(tool, "a", trial_line("1", "20", "c1") + trial_line("1", "30", "old", "3") + winner_line("1"));
  CHECK(tool.run({"cache", "verify", file}).status == 0);
  CHECK(tool.run({"cache", "prune", file}).status == 2);
  CHECK(json_of(tool, {"cache", "prune", file, "--older-than", "1"})["trials"] == 2);
  CHECK(json_of(tool, {"cache", "ls", file})[0]["winners"] == 1);
  const std::string broken = tool.folder().write("broken.db", sparse::read_bytes(file).substr(0, 8000)).string();
  const Outcome outcome = tool.run({"cache", "verify", file, broken});
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.output, file + ": good"));
  CHECK(contains(outcome.output, broken + ": "));
}

TEST_CASE("a file is signed with a made key, and verify believes only that key and those bytes") {
  const Tool tool;
  const std::string file = database(tool, "a", winner_line("1"));
  const std::string team = (tool.folder() / "team").string();
  const std::string other = (tool.folder() / "other").string();
  REQUIRE(tool.run({"cache", "keygen", team}).status == 0);
  REQUIRE(tool.run({"cache", "keygen", other}).status == 0);
  CHECK(tool.run({"cache", "keygen", team}).status == 2);
  CHECK(tool.run({"cache", "verify", file, "--trust", team + ".pub"}).status == 1);
  REQUIRE(tool.run({"cache", "sign", file, "--key", team + ".key"}).status == 0);
  CHECK(tool.run({"cache", "verify", file, "--trust", team + ".pub"}).status == 0);
  CHECK(tool.run({"cache", "verify", file, "--trust", other + ".pub"}).status == 1);
  CHECK(tool.run({"cache", "verify", file, "--trust", other + ".pub", "--trust", team + ".pub"}).status == 0);
  CHECK(contains(tool.run({"cache", "ls", file}).output, "signed by"));
  REQUIRE(tool.run({"cache", "load", (tool.folder() / "a.txt").string(), "--into", file}).status == 0);
  CHECK(tool.run({"cache", "verify", file, "--trust", team + ".pub"}).status == 1);
}

}  // namespace
}  // namespace vostok::cli::testing
