// Programmatic dependent launch (sm_90): every launch of a plan may start while the one before it in the stream, of the
// same call or of the one before, still runs. Older architectures and the emulator start it afterwards: there these are
// nothing.
//
// - Every kernel of an operation waits before it reads or writes anything that a launch may write: operands, outputs,
// workspaces. What it may
//   look at before are the topology's forms and values that Plan::pack packed, which are complete, and strips that the
//   launch before packs.
// - A launch waits for the one before it alone, so some block of every launch waits, whatever there is to do.
// - Blocks of the next launch take what room they find, and keep it: where many blocks of a kernel share a
// multiprocessor, those that end early
//   would be followed by more than their share of the next one's. Such kernels let it start when they have computed
//   their sums, not before.
// - It lets the next launch start only when it has waited itself: what ran before the launch before is then complete,
// for that one too.
// - Kernels that pack strips therefore let none start, and end with publish_to_next_launch: a launch that copies strips
// before it waits, from L2,
//   begins when all of their blocks have ended.
#pragma once

namespace vostok {

/// Waits until the launch before this one is complete and what it wrote is visible.
__device__ inline void wait_for_previous_launch() {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// The next launch may start once every block of this one has called this or ended.
__device__ inline void allow_next_launch() {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Both: of kernels of one block for each multiprocessor, and of short ones.
__device__ inline void follow_previous_launch() {
  wait_for_previous_launch();
  allow_next_launch();
}

/// What the calling thread wrote is in L2 when its block ends.
__device__ inline void publish_to_next_launch() {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 900
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
}

}  // namespace vostok
