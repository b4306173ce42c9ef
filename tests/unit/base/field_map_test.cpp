#include "base/field_map.hpp"

#include <doctest/doctest.h>

#include <random>

#include "base/printable.hpp"

using vostok::FieldMap;
using vostok::parse_field_map;
using vostok::to_text;

TEST_CASE("a field map is written sorted, one space between fields") {
  CHECK(to_text({{"tile_rows", "8"}, {"dense_vector", "4"}}) == "dense_vector=4 tile_rows=8");
  CHECK(to_text({}).empty());
}

TEST_CASE("a field map is read back as it was written") {
  constexpr unsigned seed = 7;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string alphabet = "ab=% \n\t\x7f.-\xc3\xa4\x9b\x1b";
  const auto word = [&](std::size_t least) {
    std::string text(least + random() % 6, ' ');
    for (char& byte : text) byte = alphabet[random() % alphabet.size()];
    return text;
  };
  for (int round = 0; round < 500; ++round) {
    FieldMap fields;
    for (auto i = random() % 5; i > 0; --i) fields[word(1)] = word(0);
    const std::string text = to_text(fields);
    CAPTURE(text);
    CHECK(vostok::printable(text) == text);
    CHECK(parse_field_map(text) == fields);
  }
}

TEST_CASE("text that no field map was written as is refused") {
  for (const char* text : {"tile_rows", "=8", "a=1 a=2", "a=1  b=2", " a=1", "a=1 ", "a=%2", "a=%G0", "a%=1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_field_map(text).has_value());
  }
}
