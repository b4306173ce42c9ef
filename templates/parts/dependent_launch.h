// Programmatic dependent launch (sm_90): a launch with the attribute starts while the one before it in the stream still runs.
// Older architectures and the emulator start it afterwards: there these are nothing.
#pragma once

namespace vostok {

/// Waits until the launch before this one is complete and what it wrote is visible. A launch with the attribute calls it before it
/// touches anything that an earlier launch of its plan writes or reads.
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

}  // namespace vostok
