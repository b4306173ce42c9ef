// The time that a worker process is given, in which only what it could have used counts.
#pragma once

#include <sys/types.h>

#include "tune/patience.hpp"

namespace vostok::tune {

/// Counts while the worker is not stopped. Where this process did not run itself (stopped, frozen with its container,
/// paused with its machine), most of that time does not count. A worker that was stopped for as long as it was to be
/// given is not waited for either.
class WorkerPatience final : public Patience {
 public:
  WorkerPatience(pid_t worker, double seconds);
  int next_wait_ms() override;

  /// Whether it ended because the worker was stopped.
  bool worker_was_stopped() const { return stopped_ >= limit_; }

 private:
  pid_t worker_;
  Clock::duration limit_;
  Clock::time_point last_ = Clock::now();
  Clock::duration ran_ = {};
  Clock::duration stopped_ = {};
};

/// Whether a process is stopped, by a signal or by who traces it. False where that cannot be told.
bool is_stopped(pid_t process);

}  // namespace vostok::tune
