// Sums of products of bytes (dp4a, sm_61 and later).
#pragma once

namespace vostok {

/// sum + the products of the four unsigned bytes of `a` with those of `b`, modulo 2^32.
__device__ inline unsigned dot_bytes(unsigned a, unsigned b, unsigned sum) {
#if defined(VOSTOK_EMULATOR)
  for (int shift = 0; shift < 32; shift += 8) sum += (a >> shift & 0xffU) * (b >> shift & 0xffU);
  return sum;
#else
  unsigned result;
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
#endif
}

}  // namespace vostok
