// Weights that are not in the cache: every call reads another copy of them, and together the copies are larger than it.
#pragma once

#include <cstdint>

#include "tune/rotation.hpp"

namespace vostok::bench {

using tune::cold_bytes;
using tune::in_turn;

/// Copies of `bytes` that take more than `rotated_bytes` together, two at least; 1 where `rotated_bytes` is 0: nothing
/// rotates. Errors: unsupported (more copies than a recorded sequence holds).
int copies_of(std::int64_t rotated_bytes, std::int64_t bytes);

}  // namespace vostok::bench
