// Whose kernels `vostok cache merge` takes, what verify says of signed files, and layers that a variable names.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cache/code_rows.hpp"
#include "cache/signature.hpp"
#include "unit/cache/fixture.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {
namespace {

namespace fs = std::filesystem;
using namespace cache::testing;

/// A folder with a choice of those rows and one kernel of that name.
fs::path make_caches(const Tool& tool, const std::string& name) {
  const fs::path folder = tool.folder() / name;
  Opening opening(in_folder(folder));
  opening.tuning().set_winner(sample_problem(), sample_device(), sample_winner());
  opening.code().put(sample_entry(name), sample_image());
  return folder;
}

std::vector<std::string> kernels_of(const fs::path& file) {
  cache::Connection connection(file, cache::Access::read_only, 1000);
  return cache::code_keys(connection);
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("merge takes kernels of files that only the user can have written, or that a trusted key signed") {
  const Tool tool;
  const std::string ours = make_caches(tool, "a") / "code.db";
  const fs::path shared = make_caches(tool, "b");
  const std::string theirs = shared / "code.db";
  const std::string out = tool.folder() / "out.db";
  const cache::SigningKey key = cache::make_signing_key();
  CHECK(tool.run({"cache", "merge", ours, theirs, "--out", out}).status == 0);
  CHECK(kernels_of(out) == Keys{"a", "b"});
  fs::remove(out);
  fs::permissions(shared, fs::perms(0777));
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& why) {
    const Outcome outcome = tool.run(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.status != 0);
    CHECK(contains(outcome.errors, "cannot merge " + theirs));
    CHECK(contains(outcome.errors, why));
    CHECK_FALSE(fs::exists(out));
  };
  refused({"cache", "merge", ours, theirs, "--out", out}, "others can write " + shared.string());
  refused({"cache", "merge", theirs, ours, "--out", out}, "--trust KEY");
  refused({"cache", "merge", theirs, "--out", out}, "need the signature of a trusted key");
  refused({"cache", "merge", ours, theirs, "--trust", key.public_key.hex, "--out", out}, "it is not signed");
  cache::sign_file(theirs, key);
  refused({"cache", "merge", ours, theirs, "--out", out}, "others can write");
  refused({"cache", "merge", ours, theirs, "--trust", cache::make_signing_key().public_key.hex, "--out", out},
          "is not trusted");
  const Outcome merged = tool.run({"cache", "merge", ours, theirs, "--trust", key.public_key.hex, "--out", out});
  CHECK_MESSAGE(merged.status == 0, merged.errors);
  CHECK(kernels_of(out) == Keys{"a", "b"});
  SUBCASE("rows are taken from anywhere") {
    const std::string rows = tool.folder() / "rows.db";
    CHECK(tool.run({"cache", "merge", tool.folder() / "a/tuning.db", shared / "tuning.db", "--out", rows}).status == 0);
  }
  SUBCASE("a changed file is refused") {
    fs::copy_file(ours, theirs, fs::copy_options::overwrite_existing);
    fs::remove(out);
    refused({"cache", "merge", ours, theirs, "--trust", key.public_key.hex, "--out", out}, "it is not what was signed");
  }
  SUBCASE("a log beside a signed file is no part of it") {
    fs::copy_file(theirs, tool.folder() / "copy.db");
    cache::Connection writer(tool.folder() / "copy.db", cache::Access::read_write, 1000);
    writer.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0");
    cache::store_code(writer, sample_entry("foreign"), sample_image(), 0, std::int64_t{1} << 30);
    for (const char* end : {"-wal", "-shm"}) fs::copy_file((tool.folder() / "copy.db").string() + end, theirs + end);
    REQUIRE(kernels_of(theirs) == Keys{"b", "foreign"});  // so SQLite would read it
    CHECK(tool.run({"cache", "merge", ours, theirs, "--trust", key.public_key.hex, "--out", out}).status == 0);
    CHECK(kernels_of(out) == Keys{"a", "b"});
    CHECK(tool.run({"cache", "verify", theirs, "--trust", key.public_key.hex}).status == 0);
  }
  SUBCASE("a pipe is no file") {
    fs::remove(theirs);
    fs::remove(out);
    REQUIRE(mkfifo(theirs.c_str(), 0666) == 0);
    CHECK(tool.run({"cache", "verify", theirs, "--trust", key.public_key.hex}).status == 1);
    CHECK(contains(tool.run({"cache", "ls", theirs}).errors, "no regular file"));
  }
}

TEST_CASE("doctor lists the layers that VOSTOK_READ_ONLY_CACHE names") {
  const Tool tool;
  const std::string layer = make_caches(tool, "layer");
  const Outcome outcome = tool.run({"doctor", "--json"}, {{"VOSTOK_READ_ONLY_CACHE", layer}});
  const auto object = nlohmann::json::parse(outcome.output);
  CHECK(object["environment"]["VOSTOK_READ_ONLY_CACHE"] == layer);
  int found = 0;
  for (const auto& entry : object["cache"]["layers"])
    if (entry["kind"] == "read-only") {
      CHECK(entry["state"] == "in use");
      ++found;
    }
  CHECK(found == 2);
}

}  // namespace vostok::cli::testing
