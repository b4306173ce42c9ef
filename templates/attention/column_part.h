// The part of the columns of outputs and gradients that a block makes. Sums of wide heads leave a lane no registers, so
// that neighbouring blocks share a work: each makes all scores, and sums of its own columns.
#pragma once

#include "abi/fused_attention.h"

namespace vostok {

template <class F>
struct ColumnPart {
  static constexpr int count = column_parts(F::traits, F::config);
  static constexpr int key_size = F::traits.key_size / count, value_size = F::traits.value_size / count;

  static __device__ int number() {
    if constexpr (count == 1) return 0;
    else return static_cast<int>(blockIdx.x % count);
  }
};

}  // namespace vostok
