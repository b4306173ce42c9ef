// Logarithms of integers.
#pragma once

namespace vostok {

/// Of a positive number, rounded down.
__device__ inline int floor_log2(long long value) { return 63 - __clzll(value); }

}  // namespace vostok
