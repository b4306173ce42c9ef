#include "tune/worker_end.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include "base/text.hpp"

namespace vostok::tune {

namespace {

/// Exit statuses of AddressSanitizer, LeakSanitizer, ThreadSanitizer and MemorySanitizer, which end a process in
/// place of its fault's signal.
constexpr std::array sanitizer_statuses = {1, 23, 66, 77};

/// A shell, in which the tool may be wrapped, exits with this plus the signal that ended its child.
constexpr int shell_signal = 128;

bool is_of_code(int exit_status) {
  return is_fault(exit_status - shell_signal) ||
         std::find(sanitizer_statuses.begin(), sanitizer_statuses.end(), exit_status) != sanitizer_statuses.end();
}

}  // namespace

bool is_fault(int signal) {
  constexpr std::array faults = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  return std::find(faults.begin(), faults.end(), signal) != faults.end();
}

WorkerEnd worker_end(std::optional<int> status) {
  if (status && WIFSIGNALED(*status)) {
    const int signal = WTERMSIG(*status);
    return {.of_code = is_fault(signal), .words = fmt::format("signal {} ({})", signal, strsignal(signal))};
  }
  if (status && WIFEXITED(*status))
    return {.of_code = is_of_code(WEXITSTATUS(*status)), .words = fmt::format("exit status {}", WEXITSTATUS(*status))};
  return {.words = "it went without a word"};
}

}  // namespace vostok::tune
