// The digests that are made when templates are embedded.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"

using namespace vostok;

namespace {

/// Two templates, the first of which includes the second, embedded as the build does.
class Embedded {
 public:
  std::vector<std::string> digests(const std::string& first, const std::string& second) const {
    write("first.h", first);
    write("second.h", second);
    const std::string root = folder_.path().string();
    const std::string command = fmt::format(
        "cmake -DROOT={0} '-DFILES=first.h;second.h' -DFUNCTION=texts -DHEADER=x.hpp -DOUTPUT={0}/out.cpp -DDIGESTS=digests -P {1}/src/codegen/"
        "embed.cmake",
        root, VOSTOK_SOURCE_FOLDER);
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream file(folder_.path() / "out.cpp");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::regex digest("\"([0-9a-f]{64})\"");
    std::vector<std::string> found;
    for (std::sregex_iterator match(text.begin(), text.end(), digest), end; match != end; ++match) found.push_back((*match)[1]);
    REQUIRE(found.size() == 2);
    return found;
  }

 private:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }

  TemporaryFolder folder_;
};

const std::string first = "// first: words.\n#pragma once\n\n#include \"second.h\"\n\nint half(int a) { return a / 2; }  // of a\n";
const std::string second = "#pragma once\nconst char* text = \"a // b\";\n";

}  // namespace

TEST_CASE("comments, blank lines and indentation change no digest") {
  const Embedded embedded;
  const auto before = embedded.digests(first, second);
  CHECK(embedded.digests("#pragma once\n#include \"second.h\"\n  int half(int a) { return a / 2; }  // of a\n", second) == before);
  CHECK(embedded.digests(first, "// second \"quoted\"\n// and more; [x]\n#pragma once  // once\n\n\n" + second.substr(second.find('\n') + 1)) ==
        before);
}

TEST_CASE("code changes the digests of its template and of what includes it, and of no other") {
  const Embedded embedded;
  const auto before = embedded.digests(first, second);
  const auto other_include = embedded.digests(first, second + "int more;\n");
  CHECK(other_include[0] != before[0]);
  CHECK(other_include[1] != before[1]);
  const auto other_code = embedded.digests(first + "int more;\n", second);
  CHECK(other_code[0] != before[0]);
  CHECK(other_code[1] == before[1]);
  CHECK(embedded.digests(first, "#pragma once\nconst char* text = \"a // c\";\n")[1] != before[1]);
  CHECK(embedded.digests("#pragma once\nint half(int a) { return a / 2; }\n", second)[0] != before[0]);
}
