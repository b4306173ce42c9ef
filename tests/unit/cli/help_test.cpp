// The help of every command, found by going down from the tool's own.
#include <map>
#include <set>
#include <sstream>

#include "base/text.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/pages.hpp"
#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

/// A line of "Options:", "Positionals:" or "Subcommands:".
struct Entry {
  std::string head;  ///< "--n N REQUIRED"
  std::string text;  ///< "Columns of B and C"
};

struct Help {
  std::string description;
  std::map<std::string, std::vector<Entry>> sections;
  std::vector<std::string> footer;    ///< its lines, without the examples
  std::vector<std::string> examples;  ///< their lines
};

constexpr std::size_t text_column = 30;
constexpr const char* subcommands = "Subcommands";
constexpr const char* examples_header = "Examples:";

bool is_indented(const std::string& line) { return line.starts_with(' '); }

/// Takes the section's lines: a head, and its text behind it or on the next line.
std::vector<Entry> read_entries(std::istream& lines) {
  std::vector<Entry> entries;
  for (std::string line; is_indented(std::string(1, static_cast<char>(lines.peek()))) && std::getline(lines, line);) {
    const bool is_text = line.find_first_not_of(' ') == text_column;
    if (!is_text) entries.push_back({.head = line.substr(2, text_column - 2), .text = {}});
    if (!is_text && line.size() > text_column && line[text_column - 1] != ' ') entries.back().head = line.substr(2);
    else if (line.size() > text_column) entries.back().text = line.substr(text_column);
  }
  return entries;
}

Help parse(const std::string& text) {
  Help help;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, help.description);
  std::getline(lines, line);
  REQUIRE(line.starts_with("Usage: "));
  bool in_examples = false;
  while (std::getline(lines, line)) {
    if (line == examples_header) in_examples = true;
    else if (line.ends_with(':') && is_indented(std::string(1, static_cast<char>(lines.peek()))))
      help.sections[line.substr(0, line.size() - 1)] = read_entries(lines);
    else if (in_examples && is_indented(line)) help.examples.push_back(line);
    else if (!line.empty()) help.footer.push_back(line);
  }
  return help;
}

void add_below(const Tool& tool, const Arguments& command, std::map<std::string, Help>& all) {
  const Outcome outcome = tool.run(command + Arguments{"--help"});
  CHECK(outcome.status == 0);
  CHECK(outcome.errors.empty());
  std::string line = "vostok";
  for (const std::string& word : command) line += " " + word;
  const Help& help = all[line] = parse(outcome.output);
  const auto below = help.sections.find(subcommands);
  if (below == help.sections.end()) return;
  for (const Entry& entry : below->second)
    add_below(tool, command + Arguments{entry.head.substr(0, entry.head.find(' '))}, all);
}

/// "vostok cache ls" -> its help
std::map<std::string, Help> every_help() {
  std::map<std::string, Help> all;
  add_below(Tool(), {}, all);
  for (const char* known :
       {"vostok", "vostok run im2col", "vostok pack", "vostok tune", "vostok capture", "vostok doctor",
        "vostok cache ls", "vostok cache show", "vostok cache dump", "vostok cache load", "vostok cache merge",
        "vostok cache verify", "vostok cache prune", "vostok cache rank", "vostok cache regret", "vostok cache sign"}) {
    CAPTURE(std::string(known));
    CHECK(all.contains(known));
  }
  return all;
}

std::vector<Entry> entries_of(const Help& help) {
  std::vector<Entry> entries;
  for (const auto& section : help.sections) entries.insert(entries.end(), section.second.begin(), section.second.end());
  return entries;
}

/// The long names of the options, e.g. "--json".
std::set<std::string> options_of(const Help& help) {
  std::set<std::string> options;
  for (const Entry& entry : entries_of(help)) {
    const std::size_t start = entry.head.find("--");
    if (entry.head.starts_with('-')) options.insert(entry.head.substr(start, entry.head.find(' ', start) - start));
  }
  return options;
}

/// The options that an example of this command uses; what a program behind " -- " takes is its own.
std::set<std::string> options_in(const std::string& example) {
  std::set<std::string> options;
  std::istringstream words(example.substr(0, example.find("  ", 2)));
  for (std::string word; words >> word && word != "--";)
    if (word.starts_with("--")) options.insert(word);
  return options;
}

/// Every run of so many words, e.g. "what follows vostok run on".
std::set<std::string> phrases_of(const std::string& text) {
  constexpr std::size_t words_in_phrase = 5;
  std::set<std::string> phrases;
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    words.push_back(word);
    if (words.size() < words_in_phrase) continue;
    std::string phrase;
    for (std::size_t i = words.size() - words_in_phrase; i < words.size(); ++i) phrase += words[i] + " ";
    phrases.insert(phrase);
  }
  return phrases;
}

/// On the tool's page a command's options are words of their own; those of `vostok cache` are in the row of their
/// command.
bool has_line(const std::string& page, const std::string& command, const std::string& option) {
  const std::string cache = "vostok cache ";
  if (!command.starts_with(cache)) return contains(page, "`" + option + "`") || contains(page, "`" + option + " ");
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| `") && contains(line, "`" + command.substr(cache.size()) + " "))
      return contains(line, option + " ") || contains(line, option + "]") || contains(line, option + "`");
  return false;
}

TEST_CASE("every command says what it is for and what each option means, and has examples of its own") {
  for (const auto& [command, help] : every_help()) {
    CAPTURE(std::string(command));
    CHECK_FALSE(help.description.empty());
    CHECK(help.sections.contains("Options"));
    for (const Entry& entry : entries_of(help)) {
      CAPTURE(std::string(entry.head));
      CHECK_FALSE(entry.text.empty());
    }
    REQUIRE_FALSE(help.examples.empty());
    if (command != "vostok tune-worker")
      CHECK(help.examples.front().starts_with("  " + command + " "));  // that one the tuner starts
  }
}

TEST_CASE("examples use options that there are") {
  for (const auto& [command, help] : every_help()) {
    if (help.sections.contains(subcommands)) continue;  // its examples are of those
    const std::set<std::string> options = options_of(help);
    for (const std::string& example : help.examples) {
      CAPTURE(std::string(example));
      if (!example.starts_with("  " + command + " ")) continue;
      for (const std::string& option : options_in(example)) CHECK(options.contains(option));
    }
  }
}

TEST_CASE("what must be given shows no default") {
  for (const auto& [command, help] : every_help()) {
    for (const Entry& entry : entries_of(help)) {
      CAPTURE(command + " " + entry.head);
      CHECK_FALSE((contains(entry.head, "REQUIRED") && contains(entry.head, "=")));
    }
  }
}

TEST_CASE("what an option's line says, the text below does not say again") {
  for (const auto& [command, help] : every_help()) {
    std::string footer;
    for (const std::string& line : help.footer) footer += line + " ";
    const std::set<std::string> below = phrases_of(footer);
    for (const Entry& entry : entries_of(help)) {
      for (const std::string& phrase : phrases_of(entry.text)) {
        INFO(command, " ", entry.head, ": ", phrase);
        CHECK_FALSE(below.contains(phrase));
      }
    }
  }
}

TEST_CASE("every option of every command has a line on the tool's page") {
  const std::string page = sparse::read_bytes(VOSTOK_SOURCE_FOLDER "/src/cli/README.md");
  for (const auto& [command, help] : every_help()) {
    for (const std::string& option : options_of(help)) {
      INFO(command, " ", option);
      if (option != "--help") CHECK(has_line(page, command, option));
    }
  }
  CHECK(contains(page, "`--help`"));
}

/// The longest command that a line begins with, e.g. "vostok cache ls".
const std::string* command_of(const std::string& line, const std::map<std::string, Help>& all) {
  const std::string* longest = nullptr;
  for (const auto& entry : all)
    if ((line + " ").starts_with(entry.first + " ") && (longest == nullptr || entry.first.size() > longest->size()))
      longest = &entry.first;
  return longest;
}

TEST_CASE("commands on the pages, whether or not they run here, use options that there are") {
  const std::map<std::string, Help> all = every_help();
  int seen = 0;
  for (const test::Block& block : test::blocks_of_pages()) {
    for (const std::string& line : test::commands_of(block)) {
      CAPTURE(std::string(block.place));
      CAPTURE(std::string(line));
      const std::string* const command = command_of(line, all);
      if (command == nullptr) continue;
      ++seen;
      CHECK_FALSE(all.at(*command).sections.contains(subcommands));
      for (const std::string& option : options_in("  " + line)) CHECK(options_of(all.at(*command)).contains(option));
    }
  }
  CHECK(seen > 5);
}

TEST_CASE("the tool says its version") { CHECK(Tool().run({"--version"}).output == "vostok " VOSTOK_VERSION "\n"); }

}  // namespace
}  // namespace vostok::cli::testing
