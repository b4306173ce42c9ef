#include "base/words.hpp"

#include <doctest/doctest.h>

#include <random>

#include "base/printable.hpp"
#include "error_code.hpp"

using namespace vostok;

namespace {

using Words = std::vector<std::string>;

void check_refused(const char* line, const char* reason) {
  CAPTURE(line);
  std::string sentence;
  CHECK(test::code_of([&] { split_words(line); }, &sentence) == ErrorCode::invalid_argument);
  CAPTURE(sentence);
  CHECK(sentence.find(reason) != std::string::npos);
}

}  // namespace

TEST_CASE("a line is split into words as a shell splits it") {
  CHECK(split_words("").empty());
  CHECK(split_words("  spmm\t--n  8 \r\n") == Words{"spmm", "--n", "8"});
  CHECK(split_words(R"(--matrix "my layers/a.smtx" 'it is' a" "b'#'c)") ==
        Words{"--matrix", "my layers/a.smtx", "it is", "a b#c"});
  CHECK(split_words(R"(--matrix="my a" my\ b \"c\\ '\d' "\"\\\$\`\e")") ==
        Words{"--matrix=my a", "my b", "\"c\\", "\\d", "\"\\$`\\e"});
  CHECK(split_words(R"($'a\nb\t\r\\\'\"\x41\xffz\x9' "" '' $x)") == Words{"a\nb\t\r\\'\"A\xffz\t", "", "", "$x"});
  check_refused("a 'b", "quote (') is not closed");
  check_refused("a \"b\\", "quote (\") is not closed");
  check_refused("$'a", "quote ($') is not closed");
  check_refused("$'\\q'", "\\q is not known");
  check_refused("$'\\\x1b'", "\\\\x1b is not known");
  check_refused("$'\\xg'", "no hexadecimal digit");
  check_refused("a\\", "a backslash has nothing behind it");
}

TEST_CASE("a quoted word is one printable line, which splits into that word again") {
  CHECK(quoted_word("layers/a-1.smtx") == "layers/a-1.smtx");
  CHECK(quoted_word("") == "\"\"");
  CHECK(quoted_word("my 'layers' #1/\u00e4.smtx") == "\"my 'layers' #1/\u00e4.smtx\"");
  CHECK(quoted_word("a\nb'c\\\x1b$") == R"($'a\nb\'c\\\x1b$')");
  constexpr unsigned seed = 31;
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20000; ++i) {
    std::string word(random() % 12, ' ');
    for (char& letter : word)
      letter = static_cast<char>(random() % 3 == 0 ? "\"'\\$`!# \n-="[random() % 11] : random() % 256);
    const std::string quoted = quoted_word(word);
    CAPTURE(quoted);
    REQUIRE(printable(quoted) == quoted);
    REQUIRE(split_words("--x " + quoted + " y") == Words{"--x", word, "y"});
  }
}
