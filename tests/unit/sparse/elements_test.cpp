#include "sparse/elements.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

using namespace vostok;

namespace {

std::uint16_t bits_of(Dtype type, float value) {
  const std::vector<std::byte> bytes = sparse::to_storage(type, std::array{value});
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data(), sizeof bits);
  return bits;
}

float value_of(Dtype type, std::uint16_t bits) {
  std::array<std::byte, 2> bytes{};
  std::memcpy(bytes.data(), &bits, sizeof bits);
  return sparse::from_storage(type, bytes).front();
}

}  // namespace

TEST_CASE("every 16-bit value survives the way to f32 and back") {
  for (const Dtype type : {Dtype::f16, Dtype::bf16})
    for (int i = 0; i < 65536; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const float value = value_of(type, bits);
      if (std::isnan(value)) CHECK_UNARY(std::isnan(value_of(type, bits_of(type, value))));
      else if (bits_of(type, value) != bits) FAIL(name(type) << " " << i);
    }
}

TEST_CASE("values between two neighbours go to the nearer one, ties to the even one") {
  for (const Dtype type : {Dtype::f16, Dtype::bf16})
    for (int i = 0; i < (type == Dtype::f16 ? 0x7bff : 0x7f7f); i += 7) {
      const double low = value_of(type, static_cast<std::uint16_t>(i));
      const double high = value_of(type, static_cast<std::uint16_t>(i + 1));
      const auto middle = static_cast<float>((low + high) / 2);
      REQUIRE(bits_of(type, middle) == i + i % 2);
      REQUIRE(bits_of(type, std::nextafter(middle, 0.0F)) == i);
      REQUIRE(bits_of(type, std::nextafter(middle, HUGE_VALF)) == i + 1);
    }
}

TEST_CASE("what is too large becomes infinite and the sign stays") {
  CHECK(sparse::round_to(Dtype::f16, 65519.0F) == 65504.0F);
  CHECK(sparse::round_to(Dtype::f16, -65520.0F) == -std::numeric_limits<float>::infinity());
  CHECK(sparse::round_to(Dtype::bf16, std::numeric_limits<float>::max()) == std::numeric_limits<float>::infinity());
  CHECK(std::signbit(sparse::round_to(Dtype::f16, -0.0F)));
  CHECK(sparse::round_to(Dtype::f32, 1e-40F) == 1e-40F);
}

TEST_CASE("what values hold beside finite numbers, and what a type makes infinite, is counted apart") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {0, -0.0, 1, std::nan(""), -infinity, infinity, 65519, -65520, 1e30, -1e300};
  const auto check = [&](Dtype type, std::int64_t overflows) {
    CAPTURE(name(type));
    const sparse::ValueFacts facts = sparse::value_facts(type, values);
    CHECK(facts.count == static_cast<std::int64_t>(values.size()));
    CHECK(facts.nans == 1);
    CHECK(facts.infinities == 2);
    CHECK(facts.overflows == overflows);
    CHECK(facts.largest == 1e300);
    CHECK_FALSE(facts.all_finite());
  };
  check(Dtype::f16, 3);   // -65520 and more
  check(Dtype::bf16, 1);  // 1e300 is no float
  check(Dtype::f32, 1);

  const std::vector<float> floats = {65504, -70000, 2};
  CHECK(sparse::value_facts(Dtype::f16, floats).overflows == 1);
  CHECK(sparse::value_facts(Dtype::f16, floats).largest == 70000);
  CHECK(sparse::value_facts(Dtype::bf16, floats).all_finite());
  CHECK(sparse::value_facts(Dtype::f16, std::vector<float>{}).all_finite());
}
