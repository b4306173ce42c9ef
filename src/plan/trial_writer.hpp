// Publishes trials while the next ones are measured. A transaction waits some ten milliseconds for the disk, which the
// measuring thread cannot spare; this thread stores everything that came in meanwhile in one transaction.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "plan/stores.hpp"

namespace vostok::plan {

class TrialWriter {
 public:
  TrialWriter(TuningStore& store, ProblemKey problem, DeviceKey device);
  ~TrialWriter();  ///< returns when everything is stored
  TrialWriter(const TrialWriter&) = delete;
  TrialWriter& operator=(const TrialWriter&) = delete;

  void add(TrialRecord trial);

 private:
  void work();
  /// The trials since the last call, after waiting for at least one; empty at the end.
  std::vector<TrialRecord> take();

  TuningStore& store_;
  ProblemKey problem_;
  DeviceKey device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TrialRecord> waiting_;
  bool closed_ = false;
  std::jthread thread_;
};

}  // namespace vostok::plan
