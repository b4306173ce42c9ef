// Registers that warpgroups of a block give to one another (setmaxnreg, sm_90a). PTX only.
//
// Every warp of a warpgroup executes it. Taking waits until the block's pool has as many free: more than all others
// give hangs.
#pragma once

namespace vostok {

/// Lowers this warpgroup's registers a thread to `count`, a multiple of 8 from 24 on.
template <int count>
__device__ inline void give_registers() {
  static_assert(count >= 24 && count <= 256 && count % 8 == 0, "registers: a multiple of 8 from 24 to 256");
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

/// Raises them.
template <int count>
__device__ inline void take_registers() {
  static_assert(count >= 24 && count <= 256 && count % 8 == 0, "registers: a multiple of 8 from 24 to 256");
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

}  // namespace vostok
