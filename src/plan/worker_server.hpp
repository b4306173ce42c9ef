// The worker's side: makes the operands of a problem, and runs candidates on them that may hang, fault or be wrong.
#pragma once

#include <memory>

#include "plan/planner.hpp"
#include "plan/race_subject.hpp"
#include "tune/worker_frame.hpp"

namespace vostok::plan {

class WorkerServer {
 public:
  WorkerServer(std::shared_ptr<const Planner> planner, tune::FrameStream& stream)
      : planner_(std::move(planner)), stream_(stream) {}

  /// Answers until the stream ends, or until a candidate has failed in a way that the device may not have outlived.
  /// Errors: invalid_argument where what comes is no frame.
  void serve();

 private:
  tune::Frame answer(const tune::Frame& asked);
  void take_problem(const tune::Frame& asked);
  tune::Frame run(const tune::Candidate& candidate, double slow_us);

  std::shared_ptr<const Planner> planner_;
  tune::FrameStream& stream_;
  Task task_;
  std::unique_ptr<RaceSubject> subject_;
};

}  // namespace vostok::plan
