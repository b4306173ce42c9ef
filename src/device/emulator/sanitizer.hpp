// Calls that tell AddressSanitizer and ThreadSanitizer about fibers and guarded memory. Every function is empty without
// them. The scheduler is built without -fsanitize=thread, so the build defines VOSTOK_THREAD_SANITIZER for it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define VOSTOK_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VOSTOK_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(VOSTOK_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(VOSTOK_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
extern "C" {
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#endif

namespace vostok::device::emulator::sanitizer {

#if defined(VOSTOK_ADDRESS_SANITIZER)
inline constexpr bool address = true;
inline void forbid(const void* begin, std::size_t bytes) { __asan_poison_memory_region(begin, bytes); }
inline void permit(const void* begin, std::size_t bytes) { __asan_unpoison_memory_region(begin, bytes); }
/// Before a switch to the stack given; `saved` is null on a fiber's last switch.
inline void leave_stack(void** saved, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(saved, bottom, bytes);
}
/// After a switch, on the new stack; returns the stack that was left.
inline void enter_stack(void* saved, const void** bottom, std::size_t* bytes) {
  __sanitizer_finish_switch_fiber(saved, bottom, bytes);
}
#else
inline constexpr bool address = false;
inline void forbid(const void*, std::size_t) {}
inline void permit(const void*, std::size_t) {}
inline void leave_stack(void**, const void*, std::size_t) {}
inline void enter_stack(void*, const void**, std::size_t*) {}
#endif

#if defined(VOSTOK_THREAD_SANITIZER)
inline constexpr bool thread = true;
inline void* create_fiber() { return __tsan_create_fiber(0); }
inline void destroy_fiber(void* fiber) { __tsan_destroy_fiber(fiber); }
inline void* current_fiber() { return __tsan_get_current_fiber(); }
/// Establishes no order between the two: only barriers and warp operations order CUDA threads.
inline void switch_to(void* fiber) { __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync); }
inline void publish(void* token) { __tsan_release(token); }
inline void observe(void* token) { __tsan_acquire(token); }
inline void begin_unseen() { __tsan_ignore_thread_begin(); }
inline void end_unseen() { __tsan_ignore_thread_end(); }
#else
inline constexpr bool thread = false;
inline void* create_fiber() { return nullptr; }
inline void destroy_fiber(void*) {}
inline void* current_fiber() { return nullptr; }
inline void switch_to(void*) {}
inline void publish(void*) {}
inline void observe(void*) {}
inline void begin_unseen() {}
inline void end_unseen() {}
#endif

/// Hides a CUDA thread's accesses from ThreadSanitizer while it lives, for the emulator's own memory. A worker runs
/// blocks one after another in the same memory, but ThreadSanitizer knows no order between the CUDA threads of two
/// blocks. It sees allocations, moves and frees even in code built without it.
class Unseen {
 public:
  Unseen() { begin_unseen(); }
  ~Unseen() { end_unseen(); }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

}  // namespace vostok::device::emulator::sanitizer
