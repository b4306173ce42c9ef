// Whether numbers are finite.
#pragma once

namespace vostok {

/// False for NaN, too.
__device__ inline bool is_finite(float value) { return fabsf(value) <= 3.402823466e+38F; }

template <int count>
__device__ inline bool all_finite(const float (&values)[count]) {
  bool all = true;
#pragma unroll
  for (const float value : values) all = all && is_finite(value);
  return all;
}

}  // namespace vostok
