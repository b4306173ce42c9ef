#include "sparse/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace vostok::sparse {

namespace {

std::uint16_t to_f16(float value) {
  constexpr int mantissa_bits = 10;
  constexpr int least_exponent = -14;
  constexpr double overflow = 65520;  // halfway between the largest value and the next power of two
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isnan(value)) return 0x7fff;
  if (magnitude >= overflow) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = magnitude == 0 ? least_exponent : std::max(std::ilogb(magnitude), least_exponent);
  // A normal value has 1024 to 2048 units, whose leading one (or carry) moves the exponent up by itself.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent - least_exponent) << mantissa_bits) + units));
}

float from_f16(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::bit_cast<float>(0x7fc00000U) : static_cast<float>(sign * HUGE_VAL);
  return static_cast<float>(sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25)));
}

/// A bf16 is the upper half of an f32.
std::uint16_t to_bf16(float value) {
  if (std::isnan(value)) return 0x7fff;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace

float round_to(Dtype type, float value) {
  switch (type) {
    case Dtype::f32: return value;
    case Dtype::f16: return from_f16(to_f16(value));
    case Dtype::bf16: return from_bf16(to_bf16(value));
  }
  return value;
}

std::vector<std::byte> to_storage(Dtype type, std::span<const float> values) {
  const auto element_bytes = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(values.size() * element_bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = type == Dtype::f16 ? to_f16(values[i]) : to_bf16(values[i]);
    const void* const stored = type == Dtype::f32 ? static_cast<const void*>(&values[i]) : &half;
    std::memcpy(bytes.data() + i * element_bytes, stored, element_bytes);
  }
  return bytes;
}

std::vector<float> from_storage(Dtype type, std::span<const std::byte> bytes) {
  const auto element_bytes = static_cast<std::size_t>(size_of(type));
  std::vector<float> values(bytes.size() / element_bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::byte* const stored = bytes.data() + i * element_bytes;
    std::uint16_t half = 0;
    if (type == Dtype::f32) std::memcpy(&values[i], stored, sizeof(float));
    else {
      std::memcpy(&half, stored, sizeof half);
      values[i] = type == Dtype::f16 ? from_f16(half) : from_bf16(half);
    }
  }
  return values;
}

double unit_roundoff(Dtype type) {
  switch (type) {
    case Dtype::f32: return 0x1p-24;
    case Dtype::f16: return 0x1p-11;
    case Dtype::bf16: return 0x1p-8;
  }
  return 0;
}

double smallest_value(Dtype type) {
  switch (type) {
    case Dtype::f32: return 0x1p-149;
    case Dtype::f16: return 0x1p-24;
    case Dtype::bf16: return 0x1p-133;
  }
  return 0;
}

}  // namespace vostok::sparse
