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

const std::string first =
    "// first: words.\n#pragma once\n\n#include \"second.h\"\n\nint half(int a) { return a / 2; }  // of a\n";
const std::string second = "#pragma once\n#include \"third.h\"\nconst char* text = \"a // b\";\n";
const std::string third = "#define ONE 1\nint one = ONE;\n";

/// Three templates, the first of which includes the second, and that the third, embedded as the build does.
class Embedded {
 public:
  std::vector<std::string> digests(const std::string& first_text, const std::string& second_text,
                                   const std::string& third_text = third) const {
    write("first.h", first_text);
    write("second.h", second_text);
    write("third.h", third_text);
    const std::string root = folder_.path().string();
    const std::string command = fmt::format(
        "cmake -DROOT={0} '-DFILES=first.h;second.h;third.h' -DFUNCTION=texts -DHEADER=x.hpp -DOUTPUT={0}/out.cpp "
        "-DDIGESTS=digests -P "
        "{1}/src/codegen/"
        "embed.cmake",
        root, VOSTOK_SOURCE_FOLDER);
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream file(folder_.path() / "out.cpp");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::regex digest("\"([0-9a-f]{64})\"");
    std::vector<std::string> found;
    for (std::sregex_iterator match(text.begin(), text.end(), digest), end; match != end; ++match)
      found.push_back((*match)[1]);
    REQUIRE(found.size() == 3);
    return found;
  }

 private:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }

  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("comments, blank lines and indentation change no digest") {
  const Embedded embedded;
  const auto before = embedded.digests(first, second);
  CHECK(embedded.digests("#pragma once\n#include \"second.h\"\n  int half(int a) { return a / 2; }  // of a\n",
                         second) == before);
  CHECK(embedded.digests(first, "// second \"quoted\"\n// and more; [x]\n#pragma once  // once\n\n\n" +
                                    second.substr(second.find('\n') + 1)) == before);
}

TEST_CASE("code changes the digests of its template and of what includes it, near or far, and of no other") {
  const Embedded embedded;
  const auto before = embedded.digests(first, second);
  const auto other_include = embedded.digests(first, second + "int more;\n");
  CHECK(other_include[0] != before[0]);
  CHECK(other_include[1] != before[1]);
  CHECK(other_include[2] == before[2]);
  const auto far = embedded.digests(first, second, third + "int more;\n");
  for (std::size_t i = 0; i < far.size(); ++i) CHECK(far[i] != before[i]);
  const auto other_code = embedded.digests(first + "int more;\n", second);
  CHECK(other_code[0] != before[0]);
  CHECK(other_code[1] == before[1]);
  CHECK(other_code[2] == before[2]);
  CHECK(embedded.digests("#pragma once\nint half(int a) { return a / 2; }\n", second)[0] != before[0]);
}

TEST_CASE("what only looks like a comment or a blank is code") {
  const Embedded embedded;
  const auto digest = [&](const std::string& text) { return embedded.digests(first, second, text)[2]; };
  CHECK(digest("const char* text = \"a // b\";\n") != digest("const char* text = \"a // c\";\n"));
  CHECK(digest("// words\nint a;\n") != digest("// words\nint b;\n"));  // the line behind a comment
  CHECK(digest("// \"words\"\nint a;\n") != digest("// \"words\"\nint b;\n"));
  CHECK(digest("int a;  // words\nint b;\n") != digest("int a;  // words\nint c;\n"));
  CHECK(digest("int a = b + +c;\n") != digest("int a = b ++ c;\n"));
  CHECK(digest("#define ONE 1\nint one;\n") != digest("#define ONE 1 int one;\n"));
}
