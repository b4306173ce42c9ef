// How a worker process ended, and whether the code that it ran was the cause.
#pragma once

#include <optional>
#include <string>

namespace vostok::tune {

struct WorkerEnd {
  /// True if the code was the cause. False: a signal from outside, the kernel's out-of-memory killer, a limit of
  /// the process, or unknown.
  bool of_code = false;
  std::string words = {};  ///< "signal 11 (Segmentation fault)", "exit status 3"
};

/// Signals that a process causes by its own code.
bool is_fault(int signal);

/// `status`: as from waitpid; nothing if another part of the program has reaped the process.
WorkerEnd worker_end(std::optional<int> status);

}  // namespace vostok::tune
