// Files that commands make: replaced as a whole, and nothing but a file is replaced.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "cache/schema.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {
namespace {

namespace fs = std::filesystem;

/// A folder with a file, and what leads to it or is none.
struct Outputs {
  const Tool tool;
  const fs::path precious = tool.folder().write("precious", "what was there");
  const fs::path link = tool.folder() / "link";
  const fs::path folder = tool.folder() / "a folder";
  const fs::path pipe = tool.folder() / "pipe";

  Outputs() {
    fs::create_symlink(precious, link);
    fs::create_directory(folder);
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  }

  std::string empty_database(const char* name, cache::Content content) const {
    const fs::path file = tool.folder() / name;
    cache::Connection connection(file, cache::Access::read_write, cache::tool_lock_timeout_ms);
    cache::make_schema(connection, content);
    return file.string();
  }
};

}  // namespace

TEST_CASE(
    "no command writes onto a folder, a link, a pipe or into a folder that is not there, and each says what it is "
    "before any work") {
  const Outputs outputs;
  const std::string tuning = outputs.empty_database("tuning.db", cache::Content::tuning),
                    code = outputs.empty_database("code.db", cache::Content::code);
  const std::vector<std::vector<std::string>> commands = {
      {"cache", "merge", tuning, tuning, "--out"},
      {"cache", "merge", code, code, "--out"},
      {"cache", "rank", tuning, "--out"},
      {"cache", "dump", tuning, "--out"},
      {"pack", "--arch", "sm_90", "--problems", "/no/such/problems", "--out"}};
  const std::vector<std::pair<fs::path, std::string>> places = {
      {outputs.link, "it is a link"},
      {outputs.folder, "it is a folder"},
      {outputs.pipe, "it is a pipe"},
      {outputs.tool.folder() / "absent" / "out", "there is no folder"}};
  for (const auto& command : commands)
    for (const auto& [place, reason] : places) {
      std::vector<std::string> words = command;
      words.push_back(place.string());
      CAPTURE(command[1]);
      CAPTURE(reason);
      const Outcome outcome = outputs.tool.run(words);
      CHECK(outcome.status == 2);
      CHECK(contains(outcome.errors, "cannot write " + place.string()));
      CHECK(contains(outcome.errors, reason));
    }
  CHECK(fs::is_symlink(outputs.link));
  CHECK(sparse::read_bytes(outputs.precious) == "what was there");
}

TEST_CASE("study and sign replace files as a whole, and follow no link where they write") {
  const Outputs outputs;
  const std::string matrix = outputs.tool.folder().write("m.smtx", "2, 2, 1\n0 1 1\n0\n").string();
  const fs::path out = outputs.tool.folder() / "results";
  fs::create_directory(out);
  fs::create_symlink(outputs.precious, out / "study.csv");
  const Outcome study = outputs.tool.run({"study", matrix, "--out", out.string()});
  CHECK(study.status == 2);
  CHECK(contains(study.errors, "study.csv: it is a link"));

  const std::string code = outputs.empty_database("code.db", cache::Content::code);
  const std::string key = (outputs.tool.folder() / "team").string();
  REQUIRE(outputs.tool.run({"cache", "keygen", key}).status == 0);
  fs::create_symlink(outputs.precious, code + ".sig");
  const Outcome sign = outputs.tool.run({"cache", "sign", code, "--key", key + ".key"});
  CHECK(sign.status == 2);
  CHECK(contains(sign.errors, "code.db.sig: it is a link"));
  CHECK(sparse::read_bytes(outputs.precious) == "what was there");
}

TEST_CASE("a file that is there is replaced by a new one, not written into: its other name keeps what it held") {
  const Outputs outputs;
  const TemporaryFolder& folder = outputs.tool.folder();
  const std::string tuning = outputs.empty_database("tuning.db", cache::Content::tuning),
                    code = outputs.empty_database("code.db", cache::Content::code),
                    matrix = folder.write("m.smtx", "2, 2, 1\n0 1 1\n0\n").string(), key = (folder / "team").string();
  REQUIRE(outputs.tool.run({"cache", "keygen", key}).status == 0);
  struct Writing {
    std::vector<std::string> command;
    fs::path file;
  };
  const fs::path out = folder / "out", results = folder / "results";
  const std::vector<Writing> all = {{{"cache", "dump", tuning, "--out", out.string()}, out},
                                    {{"cache", "merge", tuning, tuning, "--out", out.string()}, out},
                                    {{"cache", "merge", code, code, "--out", out.string()}, out},
                                    {{"cache", "rank", tuning, "--out", out.string()}, out},
                                    {{"cache", "sign", code, "--key", key + ".key"}, code + ".sig"},
                                    {{"study", matrix, "--out", results.string()}, results / "study.csv"},
                                    {{"study", matrix, "--out", results.string()}, results / "study.svg"}};
  fs::create_directory(results);
  for (const auto& [command, file] : all) {
    CAPTURE(command[0] + " " + command[1]);
    fs::remove(file);
    fs::copy_file(outputs.precious, file);
    fs::remove(folder / "another name");
    fs::create_hard_link(file, folder / "another name");
    const Outcome outcome = outputs.tool.run(command);
    CAPTURE(outcome.errors);
    CHECK(outcome.status == 0);
    CHECK(sparse::read_bytes(file) != "what was there");
    CHECK(sparse::read_bytes(folder / "another name") == "what was there");
  }
}

}  // namespace vostok::cli::testing
