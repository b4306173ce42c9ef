// Atomics (relaxed, as on a GPU) and fences.
#pragma once

namespace vostok_emulator {

/// Applies `change` to the value at `address` as one step and gives the old value.
template <class T, class Change>
inline T atomic_update(T* address, Change&& change) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  T wanted = change(old);
  while (!__atomic_compare_exchange(address, &old, &wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    wanted = change(old);
  return old;
}

}  // namespace vostok_emulator

#define VOSTOK_ATOMICS(type)                                                                       \
  inline type atomicAdd(type* address, type value) {                                               \
    return vostok_emulator::atomic_update(address, [=](type old) -> type { return old + value; }); \
  }                                                                                                \
  inline type atomicExch(type* address, type value) {                                              \
    return vostok_emulator::atomic_update(address, [=](type) { return value; });                   \
  }
#define VOSTOK_INTEGER_ATOMICS(type)                                                                        \
  VOSTOK_ATOMICS(type)                                                                                      \
  inline type atomicSub(type* address, type value) {                                                        \
    return vostok_emulator::atomic_update(address, [=](type old) -> type { return old - value; });          \
  }                                                                                                         \
  inline type atomicMin(type* address, type value) {                                                        \
    return vostok_emulator::atomic_update(address, [=](type old) { return old < value ? old : value; });    \
  }                                                                                                         \
  inline type atomicMax(type* address, type value) {                                                        \
    return vostok_emulator::atomic_update(address, [=](type old) { return old < value ? value : old; });    \
  }                                                                                                         \
  inline type atomicAnd(type* address, type value) {                                                        \
    return vostok_emulator::atomic_update(address, [=](type old) { return old & value; });                  \
  }                                                                                                         \
  inline type atomicOr(type* address, type value) {                                                         \
    return vostok_emulator::atomic_update(address, [=](type old) { return old | value; });                  \
  }                                                                                                         \
  inline type atomicXor(type* address, type value) {                                                        \
    return vostok_emulator::atomic_update(address, [=](type old) { return old ^ value; });                  \
  }                                                                                                         \
  inline type atomicCAS(type* address, type compare, type value) {                                          \
    return vostok_emulator::atomic_update(address, [=](type old) { return old == compare ? value : old; }); \
  }
VOSTOK_INTEGER_ATOMICS(int)
VOSTOK_INTEGER_ATOMICS(unsigned)
VOSTOK_INTEGER_ATOMICS(unsigned long long)
VOSTOK_ATOMICS(float)
VOSTOK_ATOMICS(double)
#undef VOSTOK_INTEGER_ATOMICS
#undef VOSTOK_ATOMICS

#if defined(__SANITIZE_THREAD__)
#define VOSTOK_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VOSTOK_THREAD_SANITIZER 1
#endif
#endif

inline void __threadfence() {
#ifdef VOSTOK_THREAD_SANITIZER
  // ThreadSanitizer does not model fences: threads that fence are ordered through one variable instead.
  static int token = 0;
  __atomic_fetch_add(&token, 1, __ATOMIC_ACQ_REL);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
inline void __threadfence_block() { __threadfence(); }
inline void __threadfence_system() { __threadfence(); }
