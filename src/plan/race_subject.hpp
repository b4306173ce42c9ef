// Candidates of any operation as the tuner sees them: compiled by the session's kernels, run on a Case.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plan/planner.hpp"
#include "tune/case.hpp"
#include "tune/tuner.hpp"

namespace vostok::plan {

class RaceSubject : public tune::Subject {
 public:
  /// Makes the operands, and a workspace that serves every candidate. Errors: out_of_memory.
  RaceSubject(Session& session, const Task& task, const std::vector<tune::Candidate>& candidates);
  tune::Compiled compile(const tune::Candidate& candidate) override;
  std::optional<std::string> verify(const tune::Compiled& compiled) override;

 private:
  /// The case's values in a format: packed once, kept until the race ends.
  PackedValues packed_values(const std::string& format);
  std::string screen(const std::vector<std::shared_ptr<const ReadyKernel>>& kernels, const std::vector<ops::Launch>& launches) const;

  Session& session_;
  const Task& task_;
  std::unique_ptr<tune::Case> case_;
  device::Buffer workspace_;
  std::mutex mutex_;  ///< guards packed_: candidates are compiled ahead on several threads
  std::map<std::string, PackedValues> packed_;
};

}  // namespace vostok::plan
