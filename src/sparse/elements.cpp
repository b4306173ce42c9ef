#include "sparse/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace vostok::sparse {

namespace {

std::uint16_t to_f16(float value) {
  constexpr float overflow = 65520;  // halfway between the largest value and the next power of two
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const float size = std::fabs(value);
  if (std::isnan(value)) return 0x7fff;
  if (size >= overflow) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (size < 0x1p-14F)
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 24))));
  // A normal value: the exponent moves, and 13 bits are rounded off, ties to even.
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13);
}

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  if (magnitude > 0x7c00U) return std::bit_cast<float>(0x7fc00000U);
  if (magnitude == 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U);
  return std::bit_cast<float>(sign | magnitude << 13) * 0x1p112F;  // the difference of the exponents' biases
}

/// A bf16 is the upper half of an f32.
std::uint16_t to_bf16(float value) {
  if (std::isnan(value)) return 0x7fff;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

template <class Real>
ValueFacts facts_of(Dtype type, std::span<const Real> values) {
  ValueFacts facts{.count = static_cast<std::int64_t>(values.size())};
  for (const Real value : values) {
    if (std::isnan(value)) ++facts.nans;
    else if (std::isinf(value)) ++facts.infinities;
    else {
      facts.largest = std::max(facts.largest, static_cast<double>(std::fabs(value)));
      if (std::isinf(round_to(type, static_cast<float>(value)))) ++facts.overflows;
    }
  }
  return facts;
}

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

ValueFacts value_facts(Dtype type, std::span<const double> values) { return facts_of(type, values); }

ValueFacts value_facts(Dtype type, std::span<const float> values) { return facts_of(type, values); }

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
