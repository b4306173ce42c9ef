// Runs something in a child process: for faults that end one, limits that hold for one, and what a fork leaves.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <functional>
#include <iostream>
#include <string>

#include "device/emulator/memory_file.hpp"
#include "unit/flushed_fork.hpp"

namespace vostok::test {

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

struct ChildOutcome {
  bool finished = false;  ///< the body came to its end
  bool threw = false;     ///< ... by an exception, whose text is in the log
  std::string log;        ///< what the child wrote to stderr and stdout
};

namespace child {

inline constexpr int finished_status = 40;
inline constexpr int threw_status = 41;
inline constexpr unsigned most_seconds = 120;

[[noreturn]] inline void run_and_exit(const std::function<void()>& body, int log) {
  dup2(log, STDERR_FILENO);
  dup2(log, STDOUT_FILENO);
  alarm(most_seconds);
  // The test runner's handlers would report a fault as its own. AddressSanitizer reports before any signal.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT}) std::signal(signal, SIG_DFL);
  int status = finished_status;
  try {
    body();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (write(log, text.data(), text.size()) >= 0) status = threw_status;
  }
  _exit(status);
}

}  // namespace child

inline ChildOutcome in_child(const std::function<void()>& body) {
  const device::emulator::MemoryFile log("child-log");
  const pid_t process = flushed_fork();
  REQUIRE(process >= 0);
  if (process == 0) child::run_and_exit(body, log.descriptor());
  int status = 0;
  REQUIRE(waitpid(process, &status, 0) == process);
  REQUIRE_MESSAGE(!(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM), "the child hung");
  const bool threw = WIFEXITED(status) && WEXITSTATUS(status) == child::threw_status;
  return {.finished = threw || (WIFEXITED(status) && WEXITSTATUS(status) == child::finished_status),
          .threw = threw,
          .log = log.read()};
}

}  // namespace vostok::test
