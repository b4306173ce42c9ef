// Looks up machine code before it runs in this process, and sends unknown code to the worker.
#pragma once

#include <optional>
#include <vector>

#include "plan/worker_client.hpp"

namespace vostok::plan {

/// The largest workspace that any of the candidates needs.
std::int64_t largest_workspace(const ops::Query& query, const std::vector<tune::Candidate>& candidates);

/// The vetting for one race: passes, bans and trials of the tuning layers, and the worker.
class Vetting {
 public:
  Vetting(Session& session, const Task& task, std::int64_t workspace_bytes, std::uint64_t seed);

  /// The result of an earlier race for this very code, on this problem and device.
  std::optional<tune::Earlier> earlier(const tune::Candidate& candidate, const tune::Compiled& compiled) const;

  /// Code that failed before is refused, and code that passed runs here. The rest goes to the worker, or is
  /// refused if there is none.
  tune::Admission admit(const tune::Candidate& candidate, const tune::Compiled& compiled, double seconds,
                        double slow_us);

  /// Why candidates were not tried; empty if there was a worker, or none was needed.
  const std::string& no_worker() const { return worker_.unavailable(); }

 private:
  bool must_pass_first() const { return session_.options().worker.first_run == FirstRun::worker; }
  const TrialRecord* trial_of(const tune::Candidate& candidate, const std::string& code_digest) const;

  Session& session_;
  std::vector<TrialRecord> trials_;  ///< of this problem and device
  WorkerClient worker_;
};

/// A result as the tuning layers keep it.
TrialRecord to_record(const tune::Candidate& candidate, const tune::Result& result);

}  // namespace vostok::plan
