// The tuner's side of its worker process: it sends candidates there and receives their results.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plan/planner.hpp"
#include "tune/tuner.hpp"
#include "tune/worker_process.hpp"

namespace vostok::plan {

/// The protocol version, on which both sides must agree besides the library's version.
inline constexpr const char* worker_protocol = "2";
/// The status of the worker's first frame, which it sends before it reads one.
inline constexpr const char* worker_started = "started";

/// The worker of one task. It is started when first needed, and again after a candidate has killed it or others have: a
/// signal from outside, the kernel's out-of-memory killer. An end by others says nothing about the candidate, which is
/// tried once more.
class WorkerClient {
 public:
  WorkerClient(Session& session, const Task& task, std::int64_t workspace_bytes, std::uint64_t seed);

  /// Compiles, measures and, unless it is slower than `slow_us`, verifies the candidate there. `seconds` is what is
  /// left of the budget; the default config may take longer.
  tune::Admission ask(const tune::Candidate& candidate, const std::string& code_digest, double seconds, double slow_us);

  /// Why there is no worker; empty as long as one may be had.
  const std::string& unavailable() const { return unavailable_; }

 private:
  /// Why no answer came.
  struct Loss {
    std::string status =
        {};  ///< what that says about the candidate; empty: nothing, since others ended or stopped the worker
    std::string reason = {};
  };

  bool start();
  /// Returns nothing once a worker is running that knows the problem.
  std::optional<Loss> open_worker();
  /// As `converse`, if only one status is right.
  std::optional<Loss> greet(const std::optional<tune::Frame>& question, const char* right_status, double seconds);
  /// Sends the question, if there is one, and waits for the answer. A worker that gives none is gone afterwards.
  std::optional<Loss> converse(const std::optional<tune::Frame>& question, tune::Frame& answer, double seconds);
  Loss loss_of(tune::FrameStream::State state, const tune::WorkerPatience& patience, double seconds);
  tune::Admission admission_of(const tune::Frame& answer, const std::string& code_digest);
  tune::Frame open_frame() const;
  tune::Frame problem_frame() const;

  Session& session_;
  const Task& task_;
  std::int64_t workspace_bytes_;
  std::uint64_t seed_;
  std::unique_ptr<tune::WorkerProcess> process_;
  std::string unavailable_;
};

}  // namespace vostok::plan
