// Random operands of any size, quickly.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace vostok::tune {

/// `count` floats uniform in [-1, 1), element i a function of (seed, i) only; filled on all cores.
void fill_uniform(float* data, std::int64_t count, std::uint64_t seed);

/// A matrix's own value as an operand. Every NaN becomes the plain one: another could have the bytes with
/// which outputs are poisoned.
inline float operand_value(double value) {
  return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value);
}

}  // namespace vostok::tune
