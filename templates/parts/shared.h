// All shared memory of a block is one struct, sized by the launch.
#pragma once

namespace vostok {

/// The block's shared memory as a T. A kernel uses one T, and its launch gives at least sizeof(T) bytes.
#if defined(VOSTOK_EMULATOR)
template <class T>
__device__ inline T& dynamic_shared(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return ::vostok_emulator::dynamic_shared<T>(file, line);
}
#else
template <class T>
__device__ inline T& dynamic_shared() {
  static_assert(alignof(T) <= 1024, "shared memory: a type may be aligned to 1024 bytes at most");
  extern __shared__ __align__(1024) unsigned char vostok_shared[];
  return *reinterpret_cast<T*>(vostok_shared);
}
#endif

}  // namespace vostok
