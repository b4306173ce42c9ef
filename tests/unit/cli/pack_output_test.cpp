// What `vostok pack` leaves of its output file where it fails or is interrupted.
#include <doctest/doctest.h>

#include <filesystem>

#include "cache/database.hpp"
#include "cli/pack.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/interrupted_tool.hpp"
#include "unit/cli/pack_fixture.hpp"

using namespace vostok;
using namespace vostok::cli;
using namespace vostok::cli::testing;

namespace fs = std::filesystem;

TEST_CASE(
    "what cannot all be packed leaves the file that is there, and with partial the file holds the rest, or is left "
    "where there is none") {
  const TemporaryFolder folder;
  const fs::path problems = folder.write(
      "problems.txt", "spmm --random 24x40x0.5 --n 8 --family row_tile\nspmm --matrix missing.smtx --n 4\n");
  const fs::path none = folder.write("none.txt", "spmm --matrix missing.smtx --n 4\n");
  const fs::path out = folder.write("code.db", "what was there");
  const auto pack_into = [&](const fs::path& file, bool partial) {
    PackOptions options{
        .like = {"emulator"}, .problems = file, .out = out, .partial = partial, .cache = folder / "cache"};
    const PackReport report = pack(options);
    CHECK(report.failures.size() == 1);
    return std::pair(report, pack_text(options, report));
  };
  const auto [refused, refusal] = pack_into(problems, false);
  CHECK_FALSE(refused.is_written());
  CHECK(contains(refusal, "code.db: left as it was: 1 could not be packed (--partial keeps what was packed: "));
  CHECK(sparse::read_bytes(out) == "what was there");

  const auto [empty, nothing] = pack_into(none, true);
  CHECK_FALSE(empty.is_written());
  CHECK(contains(nothing, "code.db: left as it was: 1 could not be packed, and nothing was packed"));
  CHECK(sparse::read_bytes(out) == "what was there");

  fs::create_hard_link(out, folder / "another name");
  const auto [kept, text] = pack_into(problems, true);
  CHECK(kept.is_written());
  CHECK(sparse::read_bytes(folder / "another name") == "what was there");  // replaced, not written into
  CHECK(contains(text, "partial: 1 could not be packed"));
  cache::Connection connection(out, cache::Access::read_only, cache::tool_lock_timeout_ms);
  CHECK(connection.number("SELECT count(*) FROM code") == kept.devices.at(0).kernels);
  for (const auto& entry : fs::directory_iterator(folder.path()))
    CHECK_FALSE(contains(entry.path().filename().string(), ".new"));
}

TEST_CASE("Ctrl-C while packing leaves the file that is there, and with partial it holds what was packed until then") {
  const Tool tool;
  std::string lines;
  for (int rows = 1; rows <= 400; ++rows)
    lines += fmt::format("spmm --random {}x40x0.5 --n 8 --family row_tile\n", rows);
  const std::string problems = tool.folder().write("problems.txt", lines).string();
  const fs::path out = tool.folder().write("code.db", "what was there");
  std::vector<std::string> command = {"pack", "--like", "emulator", "--problems", problems, "--out", out.string()};
  const Outcome stopped = interrupted_at(tool, command, ": 0 of 400");
  CAPTURE(stopped.errors);
  CHECK(stopped.status == 130);
  CHECK(contains(stopped.output, "left as it was: interrupted"));
  CHECK(sparse::read_bytes(out) == "what was there");
  command.emplace_back("--partial");
  const Outcome kept = interrupted_at(tool, command, ": 0 of 400");
  CAPTURE(kept.errors);
  CHECK(kept.status == 130);
  // Lines that were being packed are finished, if any was begun.
  CHECK(
      (contains(kept.output, "partial: interrupted") || contains(kept.output, "interrupted, and nothing was packed")));
}
