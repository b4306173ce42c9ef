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
