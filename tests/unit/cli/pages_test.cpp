// The pages: what they link to is there, and what they show works. Programs in C++ are run by tests/package, those in
// Python by tests/python/test_pages.py.
#include "unit/cli/pages.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "base/words.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

bool runs(const test::Block& block) { return !contains(block.note, "no-run"); }

TEST_CASE("every link of a page leads to a file of the project, and to a heading where it names one") {
  int seen = 0;
  for (const std::filesystem::path& page : test::pages()) {
    for (const std::string& link : test::links_of(page)) {
      CAPTURE(page.string());
      CAPTURE(std::string(link));
      const std::size_t hash = std::min(link.find('#'), link.size());
      const std::filesystem::path target = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
      CHECK(std::filesystem::exists(target));
      ++seen;
      if (hash == link.size()) continue;
      const std::vector<std::string> anchors = test::anchors_of(target);
      CHECK(std::find(anchors.begin(), anchors.end(), link.substr(hash + 1)) != anchors.end());
    }
  }
  CHECK(seen > 20);
}

TEST_CASE("every note of bench that code or a page cites is there, with the heading that it names") {
  const std::vector<test::Citation> citations = test::citations_of_notes();
  for (const test::Citation& citation : citations) {
    CAPTURE(citation.place);
    CAPTURE(citation.page.string());
    CAPTURE(citation.anchor);
    CHECK(std::filesystem::exists(citation.page));
    if (citation.anchor.empty()) continue;
    const std::vector<std::string> anchors = test::anchors_of(citation.page);
    CHECK(std::find(anchors.begin(), anchors.end(), citation.anchor) != anchors.end());
  }
  CHECK(citations.size() > 20);
}

TEST_CASE("every block of a page says its language, and why it does not run where it does not") {
  const std::set<std::string> languages = {"cmake", "console", "cpp", "python", "sh", "text"};
  static const std::regex note(R"(|\s+no-run: \S.+|\s+needs: torch)");
  for (const test::Block& block : test::blocks_of_pages()) {
    CAPTURE(std::string(block.place));
    CHECK(languages.contains(block.language));
    CHECK(std::regex_match(block.note, note));
    if (block.language == "cmake" || block.language == "console") CHECK_FALSE(runs(block));
    if (block.language == "cpp" || block.language == "python") CHECK(runs(block));
  }
}

TEST_CASE("every program in C++ on a page has a name of its own, by which tests/package finds it") {
  std::set<std::string> names;
  for (const test::Block& block : test::blocks_of_pages()) {
    CAPTURE(std::string(block.place));
    if (block.language != "cpp") continue;
    CHECK(block.above.starts_with("<!-- snippet: "));
    CHECK(names.insert(block.above).second);
  }
  CHECK(names.size() > 3);
}

TEST_CASE("the commands of the tool that pages show run, one after the other, in an empty cache") {
  const Tool tool;
  int ran = 0;
  for (const test::Block& block : test::blocks_of_pages()) {
    if (!runs(block)) continue;
    for (const std::string& line : test::commands_of(block)) {
      CAPTURE(std::string(block.place));
      CAPTURE(std::string(line));
      std::vector<std::string> words = split_words(line);
      REQUIRE(words.front() == "vostok");
      words.erase(words.begin());
      const Outcome outcome = tool.run(words);
      CAPTURE(outcome.errors);
      CHECK(outcome.status == 0);
      CHECK_FALSE(outcome.output.empty());
      ++ran;
    }
  }
  CHECK(ran > 3);
}

TEST_CASE("commands of the project, presets and benchmarks that pages show are there") {
  const std::string script = sparse::read_bytes(VOSTOK_SOURCE_FOLDER "/run");
  const std::string presets = sparse::read_bytes(VOSTOK_SOURCE_FOLDER "/CMakePresets.json");
  static const std::regex run_command(R"(\./run ([a-z][a-z-]*)( ([a-z_]+))?)"), preset(R"(--preset ([a-z]+))");
  for (const std::filesystem::path& page : test::pages()) {
    const std::string text = sparse::read_bytes(page);
    CAPTURE(page.string());
    for (std::sregex_iterator match(text.begin(), text.end(), run_command), end; match != end; ++match) {
      CAPTURE(match->str());
      CHECK(contains(script, "\n  " + (*match)[1].str() + (((*match)[1] == "help") ? " |" : ")")));
    }
    for (std::sregex_iterator match(text.begin(), text.end(), preset), end; match != end; ++match)
      CHECK(contains(presets, "{\"name\": \"" + (*match)[1].str() + "\""));
  }
}

TEST_CASE("the first page has at most 200 lines, and text of at most 120 columns, as every page has") {
  for (const std::filesystem::path& page : test::pages()) {
    std::istringstream lines(sparse::read_bytes(page));
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      INFO(page.string(), ":", number);
      if (!line.starts_with('|') && !line.starts_with("  |"))
        CHECK(line.size() <= 120);  // a row of a table has one line
    }
    if (page == std::filesystem::path(VOSTOK_SOURCE_FOLDER) / "README.md") CHECK(number <= 200);
  }
}

}  // namespace
}  // namespace vostok::cli::testing
