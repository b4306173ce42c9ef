// The tuner's side of its worker process: candidates go there, what became of them comes back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plan/planner.hpp"
#include "tune/tuner.hpp"
#include "tune/worker_process.hpp"

namespace vostok::plan {

/// What both sides must agree on beside the library's version.
inline constexpr const char* worker_protocol = "1";

/// One task's worker: started when first needed, and again where a candidate took it along.
class WorkerClient {
 public:
  WorkerClient(Session& session, const Task& task, std::int64_t workspace_bytes, std::uint64_t seed);

  /// Compiles, measures and, unless it takes more than `slow_us`, verifies the candidate there. `seconds` are what is left of the budget; the
  /// default config may take longer.
  tune::Admission ask(const tune::Candidate& candidate, const std::string& code_digest, double seconds, double slow_us);

  /// Why there is no worker; empty as long as one may be had.
  const std::string& unavailable() const { return unavailable_; }

 private:
  using Clock = tune::FrameStream::Clock;

  bool start();
  /// Sends and waits for the answer, which tells `status`; false: it did not come, or tells why there is no worker.
  bool greet(const tune::Frame& frame, double seconds);
  void give_up(const std::string& reason);
  tune::Frame open_frame() const;
  tune::Frame problem_frame() const;
  tune::Admission lost(tune::FrameStream::State state, bool budget_ended_it, double seconds);

  Session& session_;
  const Task& task_;
  std::int64_t workspace_bytes_;
  std::uint64_t seed_;
  std::unique_ptr<tune::WorkerProcess> process_;
  std::string unavailable_;
};

}  // namespace vostok::plan
