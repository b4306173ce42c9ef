// Databases of someone else's making, given to every command: refused, named, left as they are, and nothing of them
// runs a terminal.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cache/database.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {
namespace {

const std::string one_row =
    "vostok tuning 1\n"
    "device architecture=sm_90 id=d l2_bytes=62914560 memory_bytes=150754820096 multiprocessors=132 name=NVIDIA%20H200 "
    "uuid=GPU-1\n"
    "problem exact=operation=spmm id=p index_type=i32 k=256 longest_row=60 m=512 n=64 nonzeros=13107 operation=spmm "
    "policy=warm "
    "row_variation=0.25\n"
    "winner code_digest=c config=tile_rows=1 decided_at=1 device=d driver=13 effort=full family=row_tile "
    "library_version=0.1.0 median_us=20 "
    "problem=p rounds=15\n";

void change(const std::string& file, const std::string& sql) {
  cache::Connection(file, cache::Access::read_write, cache::tool_lock_timeout_ms).execute(sql);
}

/// Every command that takes a file of the cache, applied to this one.
std::vector<std::vector<std::string>> commands(const Tool& tool, const std::string& file) {
  const std::string text = tool.folder().write("rows.txt", one_row).string();
  const std::string out = (tool.folder() / "out.db").string();
  return {{"cache", "ls", file},
          {"cache", "show", file},
          {"cache", "show", file, "--trials"},
          {"cache", "dump", file},
          {"cache", "load", text, "--into", file},
          {"cache", "merge", file, file, "--out", out},
          {"cache", "verify", file},
          {"cache", "prune", file, "--stale"},
          {"cache", "prune", file, "--max-bytes", "1"},
          {"cache", "rank", file},
          {"cache", "regret", file}};
}

}  // namespace

TEST_CASE("every command refuses a database that is not the cache's, names its file, and leaves it as it is") {
  const Tool tool;
  const std::string file = (tool.folder() / "other.db").string();
  SUBCASE("of something else") { change(file, "CREATE TABLE diary(day TEXT); INSERT INTO diary VALUES('mine')"); }
  SUBCASE("kernels without their columns") {
    change(file,
           "PRAGMA application_id = 0x56736b43; PRAGMA user_version = 1; CREATE TABLE code(key TEXT PRIMARY KEY NOT "
           "NULL)");
  }
  SUBCASE("rows without their tables") {
    change(file, "PRAGMA application_id = 0x56736b54; PRAGMA user_version = 1; CREATE TABLE trial(x)");
  }
  SUBCASE("with a view, whose name would clear the terminal") {
    REQUIRE(tool.run({"cache", "load", tool.folder().write("rows.txt", one_row).string(), "--into", file}).status == 0);
    change(file, "CREATE VIEW \"\x1b[2J\x9b\" AS SELECT 1");
  }
  SUBCASE("of a newer schema") {
    REQUIRE(tool.run({"cache", "load", tool.folder().write("rows.txt", one_row).string(), "--into", file}).status == 0);
    change(file, "PRAGMA user_version = 99");
  }
  const std::string before = sparse::read_bytes(file);
  for (const auto& command : commands(tool, file)) {
    const std::string words = command.at(1);
    CAPTURE(words);
    const Outcome outcome = tool.run(command);
    CAPTURE(outcome.errors);
    CAPTURE(outcome.output);
    CHECK(outcome.status != 0);
    CHECK(contains(outcome.output + outcome.errors, file));
    CHECK((outcome.output + outcome.errors).find_first_of("\x1b\x9b") == std::string::npos);
    CHECK(sparse::read_bytes(file) == before);
  }
}

TEST_CASE("a dump writes what a terminal would obey as %XX, and loads it as it was") {
  const Tool tool;
  const std::string file = (tool.folder() / "a.db").string();
  REQUIRE(tool.run({"cache", "load", tool.folder().write("rows.txt", one_row).string(), "--into", file}).status == 0);
  change(file, "UPDATE device SET name = 'NVIDIA' || char(27) || '[2J' || char(155) || x'9b' || char(8238) || 'H200'");
  const Outcome dumped = tool.run({"cache", "dump", file});
  CHECK(contains(dumped.output, "name=NVIDIA%1B[2J%C2%9B%9B%E2%80%AEH200 "));
  const std::string copy = (tool.folder() / "b.db").string();
  REQUIRE(tool.run({"cache", "load", tool.folder().write("dump.txt", dumped.output).string(), "--into", copy}).status ==
          0);
  CHECK(tool.run({"cache", "dump", copy}).output == dumped.output);
}

}  // namespace vostok::cli::testing
