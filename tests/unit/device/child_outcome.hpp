// Runs something in a child process, for faults that end a process.
#pragma once

#include <functional>
#include <string>

namespace emulator_test {

struct ChildOutcome {
  bool finished = false;  ///< the body came to its end
  bool threw = false;     ///< ... by an exception, whose text is in the log
  std::string log;        ///< what the child wrote to stderr and stdout
};

ChildOutcome in_child(const std::function<void()>& body);

/// Whether this build has the sanitizer.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

}  // namespace emulator_test
