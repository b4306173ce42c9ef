#include "base/number_text.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

using vostok::parse_number;

TEST_CASE("a number is read where the whole text spells it") {
  CHECK(parse_number<std::int64_t>("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK(parse_number<double>("12.75") == 12.75);
  CHECK(parse_number<double>("-1e-3") == -1e-3);
  CHECK(parse_number<float>("0.1") == 0.1F);
  for (const char* text : {"", " 1", "1 ", "+1", "1,5", "1.5x", "0x10", "one", "-", "1e"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number<double>(text).has_value());
    CHECK_FALSE(parse_number<std::int64_t>(text).has_value());
  }
  CHECK_FALSE(parse_number<std::int64_t>("1.5").has_value());
}

TEST_CASE("an integer that its type does not hold is refused") {
  CHECK_FALSE(parse_number<std::int64_t>("9223372036854775808").has_value());
  CHECK_FALSE(parse_number<int>("2147483648").has_value());
  CHECK_FALSE(parse_number<unsigned>("-1").has_value());
}

TEST_CASE("a real that is too small for its type is 0 and one that is too large is refused") {
  for (const char* text : {"1e-400", "-1e-400", "0.1e-400", "1000e-400", "1e-99999999999999999999", "1e-46"}) {
    CAPTURE(text);
    const auto value = parse_number<float>(text);
    REQUIRE(value.has_value());
    CHECK(*value == 0);
    CHECK(std::signbit(*value) == (text[0] == '-'));
  }
  CHECK(parse_number<double>("0." + std::string(400, '0') + "1") == 0.0);
  CHECK(parse_number<double>("1e-46") == 1e-46);
  CHECK(parse_number<double>("4.9e-324") == std::numeric_limits<double>::denorm_min());
  for (const char* text : {"1e400", "-1e400", "0.001e+400", "1e99999999999999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_number<double>(text).has_value());
  }
  CHECK_FALSE(parse_number<double>("1" + std::string(400, '0')).has_value());
  CHECK_FALSE(parse_number<float>("1e39").has_value());
}
