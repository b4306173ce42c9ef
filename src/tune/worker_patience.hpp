// The time limit of a worker process, which counts only time that the worker could have used.
#pragma once

#include <sys/types.h>

#include "tune/patience.hpp"

namespace vostok::tune {

/// Counts only while the worker is not stopped. If this process itself did not run (stopped, frozen with its container,
/// paused with its machine), most of that time does not count. A worker that is stopped for as long as its limit is
/// given up, too.
class WorkerPatience final : public Patience {
 public:
  WorkerPatience(pid_t worker, double seconds);
  int next_wait_ms() override;

  /// Whether the limit was reached because the worker was stopped.
  bool worker_was_stopped() const { return stopped_ >= limit_; }

 private:
  pid_t worker_;
  Clock::duration limit_;
  Clock::time_point last_ = Clock::now();
  Clock::duration ran_ = {};
  Clock::duration stopped_ = {};
};

/// Whether a process is stopped, by a signal or by a tracer. False if that is unknown.
bool is_stopped(pid_t process);

}  // namespace vostok::tune
