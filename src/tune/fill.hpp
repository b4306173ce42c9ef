// Random operands of any size, quickly.
#pragma once

#include <cstdint>

namespace vostok::tune {

/// `count` floats uniform in [-1, 1), element i a function of (seed, i) only; filled on all cores.
void fill_uniform(float* data, std::int64_t count, std::uint64_t seed);

}  // namespace vostok::tune
