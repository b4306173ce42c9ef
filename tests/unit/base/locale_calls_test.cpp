// The sources call nothing whose answer the application's locale decides: numbers go through base/number_text.hpp and
// fmt.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

/// Each line of the library's and the benchmarks' sources that such a call is on, as "file:line: text". Comments are
/// left out.
std::vector<std::string> lines_with(const std::regex& call) {
  std::vector<std::string> found;
  int files = 0;
  for (const char* folder : {"src", "cache", "include", "bench"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(VOSTOK_SOURCE_FOLDER) / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".cpp" && extension != ".hpp") continue;
      ++files;
      std::ifstream file(entry.path());
      std::string line;
      for (int number = 1; std::getline(file, line); ++number)
        if (std::regex_search(line.substr(0, line.find("//")), call))
          found.push_back(entry.path().string() + ":" + std::to_string(number) + ": " + line);
    }
  CHECK(files > 300);
  return found;
}

void check_none(const char* call) {
  for (const std::string& line : lines_with(std::regex(call, std::regex::optimize))) FAIL_CHECK(line);
}

}  // namespace

TEST_CASE("no source reads a number or judges a letter by the locale") {
  check_none(
      R"(\b(strto(d|f|ld)|sto(d|f|ld)|atof|v?[fs]?scanf|to(lower|upper)|is(alpha|alnum|digit|space|print|xdigit|punct|graph)|strn?casecmp|strcoll)\()");
}

TEST_CASE("no source prints a real number by printf or to_string - nor sets a locale") {
  check_none(R"(printf\(.*%[-+ #0-9.*]*[lL]?[aefgAEFG]\b)");
  check_none(R"(\b(setlocale|localeconv|imbue|std::locale::global)\()");
  check_none(R"(\{[^}]*:[^}"]*L\}")");
}
