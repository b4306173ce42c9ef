#include "unit/cli/pages.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <regex>
#include <set>

namespace vostok::test {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Calls with each line that is in no block of code.
void each_line_of_text(const std::filesystem::path& page, const std::function<void(const std::string&)>& call) {
  bool in_block = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) in_block = !in_block;
    else if (!in_block) call(line);
  }
}

/// As the sites that show pages make it of a heading.
std::string anchor(const std::string& heading) {
  std::string made;
  for (const char letter : heading) {
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '-')
      made += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    else if (letter == ' ') made += '-';
  }
  return made;
}

}  // namespace

std::vector<std::filesystem::path> pages() {
  const std::filesystem::path source = VOSTOK_SOURCE_FOLDER;
  std::vector<std::filesystem::path> found = {source / "CONTRIBUTING.md", source / "README.md"};
  for (const char* room : {"bench", "cache", "include", "src", "templates", "tests"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / room))
      if (entry.path().filename() == "README.md" ||
          (entry.path().extension() == ".md" && entry.path().parent_path() == source / "bench/notes"))
        found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Block> blocks_of_pages() {
  std::vector<Block> blocks;
  for (const std::filesystem::path& page : pages()) {
    bool in_block = false;
    int number = 0;
    std::string above;
    for (const std::string& line : lines_of(page)) {
      ++number;
      const bool fence = line.starts_with("```");
      if (fence && !in_block) {
        const std::size_t blank = std::min(line.find(' '), line.size());
        const std::string place = page.string() + ":" + std::to_string(number);
        blocks.push_back({.place = place,
                          .language = line.substr(3, blank - 3),
                          .note = line.substr(blank),
                          .above = above,
                          .lines = {}});
      } else if (in_block && !fence) {
        blocks.back().lines.push_back(line);
      }
      if (fence) in_block = !in_block;
      above = line;
    }
  }
  return blocks;
}

std::vector<std::string> commands_of(const Block& block) {
  const bool console = block.language == "console";
  std::vector<std::string> commands;
  if (!console && block.language != "sh") return commands;
  bool goes_on = false;
  for (const std::string& line : block.lines) {
    const bool begins = !console || line.starts_with("$ ");
    if (!begins && !goes_on) continue;
    std::string part = console && !goes_on ? line.substr(2) : line;
    part = part.substr(0, part.find("  #"));
    const bool unfinished = part.ends_with('\\');
    if (unfinished) part.pop_back();
    if (goes_on) commands.back() += part;
    else if (!part.empty()) commands.push_back(part);
    goes_on = unfinished;
  }
  for (std::string& command : commands) command.erase(command.find_last_not_of(' ') + 1);
  return commands;
}

std::vector<std::string> anchors_of(const std::filesystem::path& page) {
  std::vector<std::string> anchors;
  each_line_of_text(page, [&](const std::string& line) {
    const std::size_t start = line.find_first_not_of('#');
    if (start != 0 && start != std::string::npos && line[start] == ' ')
      anchors.push_back(anchor(line.substr(start + 1)));
  });
  return anchors;
}

std::vector<std::string> links_of(const std::filesystem::path& page) {
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  std::string text;
  each_line_of_text(page, [&](const std::string& line) { text += line + "\n"; });
  std::vector<std::string> links;
  for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end; ++match)
    if (const std::string target = (*match)[1]; !target.starts_with("http")) links.push_back(target);
  return links;
}

std::vector<Citation> citations_of_notes() {
  const std::filesystem::path source = VOSTOK_SOURCE_FOLDER;
  static const std::set<std::string> kinds = {".cpp", ".hpp", ".h", ".md", ".py", ".sh", ".txt"};
  static const std::regex cited(R"(\bbench/notes/([\w-]+\.md)(?:#([\w-]+))?)");
  std::vector<std::filesystem::path> files = {source / "CONTRIBUTING.md", source / "README.md", source / "CHANGELOG.md",
                                              source / "run"};
  for (const char* room : {"bench", "cache", "include", "src", "templates", "tests"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source / room))
      if (kinds.contains(entry.path().extension().string())) files.push_back(entry.path());
  std::vector<Citation> found;
  for (const std::filesystem::path& file : files)
    for (const std::string& line : lines_of(file))
      for (std::sregex_iterator match(line.begin(), line.end(), cited), end; match != end; ++match)
        found.push_back(
            {.place = file.string(), .page = source / "bench/notes" / (*match)[1].str(), .anchor = (*match)[2]});
  return found;
}

}  // namespace vostok::test
