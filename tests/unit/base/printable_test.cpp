#include "base/printable.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>

using vostok::printable;
using vostok::printable_lines;

TEST_CASE("text that a terminal shows stays as it is") {
  for (const char* text :
       {"", "spmm m 64 k 64", R"(C:\path "quoted" %20)", "na\u00efve \u65e5\u672c\u8a9e \U0001f600 \u00a0"}) {
    CAPTURE(text);
    CHECK(printable(text) == text);
    CHECK(printable_lines(text) == text);
  }
}

TEST_CASE("what a terminal obeys or hides is written out") {
  CHECK(printable("a\x1b[2Jb") == R"(a\x1b[2Jb)");
  CHECK(printable("a\nb\tc\rd") == R"(a\nb\tc\x0dd)");
  CHECK(printable_lines("a\nb\rc\n") == "a\nb\\x0dc\n");
  CHECK(printable(std::string("a\0b\x7f", 4)) == R"(a\x00b\x7f)");
  CHECK(printable("\u0085\u009b31m") == R"(\xc2\x85\xc2\x9b31m)");        // C1: an 8-bit CSI
  CHECK(printable("\u202egnp.exe") == R"(\xe2\x80\xaegnp.exe)");          // right to left
  CHECK(printable("a\u200bb\ufeff") == R"(a\xe2\x80\x8bb\xef\xbb\xbf)");  // no width
}

TEST_CASE("bytes that are no UTF-8 are written out one by one") {
  CHECK(printable("\xff\xfe") == R"(\xff\xfe)");
  CHECK(printable("\x9b"
                  "31m") == R"(\x9b31m)");
  CHECK(printable("\xc0\x80") == R"(\xc0\x80)");                  // overlong
  CHECK(printable("\xe0\x80\xaf") == R"(\xe0\x80\xaf)");          // overlong
  CHECK(printable("\xed\xa0\x80") == R"(\xed\xa0\x80)");          // half of a surrogate pair
  CHECK(printable("\xf4\x90\x80\x80") == R"(\xf4\x90\x80\x80)");  // past the last character
  CHECK(printable("ok\xe2\x82") == R"(ok\xe2\x82)");              // cut short
}

TEST_CASE("whatever the bytes are - nothing unprintable is left") {
  constexpr unsigned seed = 31;
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 12, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    const std::string shown = printable(text);
    for (const char byte : shown) {
      CHECK(static_cast<unsigned char>(byte) >= 0x20);
      CHECK(byte != '\x7f');
    }
    CHECK(printable(shown) == shown);
  }
}
