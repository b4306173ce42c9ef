// Copies of boxes that a tensor map describes, by the copy engine (cp.async.bulk.tensor, sm_90). PTX only.
#pragma once

#include "abi/tensor_map.h"

namespace vostok {

/// Fetches the map itself, so that the first copy does not wait for it.
__device__ inline void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Queues the copy of the box whose first element is `element` of `line` of `matrix`; all its bytes, zeros past the
/// matrix included, count as arrived at `barrier` when they are there. `shared` is a multiple of 1024: swizzled lines
/// repeat.
__device__ inline void copy_box(unsigned shared, const TensorMap& map, int element, int line, int matrix,
                                unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
          "r"(shared),
      "l"(&map), "r"(element), "r"(line), "r"(matrix), "r"(barrier)
      : "memory");
}

}  // namespace vostok
