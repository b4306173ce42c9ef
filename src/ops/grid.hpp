// Grids within the limits that every GPU has: 2^31 - 1 blocks on x, 65535 on y and on z.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "base/checked.hpp"
#include "device/device.hpp"

namespace vostok::ops {

inline constexpr std::int64_t most_blocks_on_x = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t most_blocks_on_y = 65535;

/// `fast` blocks on x; `slow` on y, continuing on z beyond y's limit. A kernel's slow index is blockIdx.z * gridDim.y +
/// blockIdx.y, which may exceed the last one. No blocks if either is 0.
inline device::Dim3 grid_of(std::int64_t fast, std::int64_t slow) {
  if (fast == 0 || slow == 0) return {0, 0, 0};
  const std::int64_t on_y = std::min(slow, most_blocks_on_y);
  return {static_cast<unsigned>(fast), static_cast<unsigned>(on_y), static_cast<unsigned>(ceil_div(slow, on_y))};
}

}  // namespace vostok::ops
