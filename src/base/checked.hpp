// Arithmetic on sizes: signed 64-bit, rounding by name, overflow refused.
#pragma once

#include <cstdint>

#include "base/text.hpp"

namespace vostok {

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return value / divisor + static_cast<std::int64_t>(value % divisor > 0);
}

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_div(value, multiple) * multiple;
}

/// Parts that are not empty, of `parts` of equal size rounded up: 129 in 16 parts of 9 fill 15.
constexpr std::int64_t filled_parts(std::int64_t whole, std::int64_t parts) {
  return whole > 0 ? ceil_div(whole, ceil_div(whole, parts)) : 1;
}

/// a * b, or invalid_argument naming `what` where it does not fit in 64 bits.
inline std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const char* what) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    fail(ErrorCode::invalid_argument, "cannot compute {}: {} * {} does not fit in 64 bits", what, a, b);
  return result;
}

}  // namespace vostok
