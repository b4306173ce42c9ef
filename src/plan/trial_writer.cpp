#include "plan/trial_writer.hpp"

#include <utility>

namespace vostok::plan {

TrialWriter::TrialWriter(TuningStore& store, ProblemKey problem, DeviceKey device)
    : store_(store), problem_(std::move(problem)), device_(std::move(device)), thread_([this] { work(); }) {}

TrialWriter::~TrialWriter() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

void TrialWriter::add(TrialRecord trial) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(trial));
  changed_.notify_one();
}

std::vector<TrialRecord> TrialWriter::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
  return std::exchange(waiting_, {});
}

void TrialWriter::work() {
  for (auto trials = take(); !trials.empty(); trials = take()) store_.add_trials(problem_, device_, trials);
}

}  // namespace vostok::plan
