// Weights that are not in the cache: every call reads another copy of them, and together the copies are larger than it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "device/device.hpp"

namespace vostok::bench {

/// What copies take together at least, so that none is in the last-level cache when its turn comes: over 220 MB, and over three times that cache.
std::int64_t cold_bytes(const DeviceInfo& device);

/// Copies of `bytes` that take more than `rotated_bytes` together, two at least; 1 where `rotated_bytes` is 0: nothing rotates.
/// Errors: unsupported (more copies than a recorded sequence holds).
int copies_of(std::int64_t rotated_bytes, std::int64_t bytes);

/// Each call makes the next of `calls`, and the first after the last. There must be one.
std::function<void(Stream)> in_turn(std::vector<std::function<void(Stream)>> calls);

}  // namespace vostok::bench
