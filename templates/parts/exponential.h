// Powers of two as the hardware computes them.
#pragma once

namespace vostok {

/// 2^x within 2^-22 of itself; results below 2^-126 become zero. 2^-infinity is 0.
__device__ inline float fast_exp2(float x) {
#if defined(VOSTOK_EMULATOR)
  return exp2f(x);
#else
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#endif
}

}  // namespace vostok
