// How a worker process ended, and whether that tells of the code that it ran.
#pragma once

#include <optional>
#include <string>

namespace vostok::tune {

struct WorkerEnd {
  /// The code did it. False: a signal from outside did, the kernel for want of memory, or a limit of the process, or
  /// nobody can tell.
  bool of_code = false;
  std::string words = {};  ///< "signal 11 (Segmentation fault)", "exit status 3"
};

/// Signals that a process brings upon itself by what it executes.
bool is_fault(int signal);

/// `status` as waitpid gives it; nothing where another part of the program took it.
WorkerEnd worker_end(std::optional<int> status);

}  // namespace vostok::tune
