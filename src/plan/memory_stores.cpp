// Stores that last as long as the process: the fallback of a disabled or failing cache.
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "plan/nearest.hpp"
#include "plan/stores.hpp"

namespace vostok::plan {

namespace {

class MemoryTuning final : public TuningStore {
 public:
  std::vector<WinnerMatch> find(const ProblemKey& problem, const DeviceKey& device) override {
    std::vector<StoredWinner> rows;
    {
      const std::lock_guard lock(mutex_);
      for (const Decision& decision : decisions_)
        if (serves(decision.problem, problem))
          rows.push_back({.winner = decision.winner,
                          .device = decision.device,
                          .features = decision.problem.features,
                          .plain = decision.problem.exact != problem.exact});
    }
    return best_first(rows, problem, device);
  }

  std::vector<WinnerMatch> find_same(const ProblemKey& problem, const DeviceKey& device) override {
    return without_neighbours(find(problem, device));
  }

  std::vector<TrialRecord> trials(const ProblemKey& problem, const DeviceKey& device) override {
    const std::lock_guard lock(mutex_);
    std::vector<TrialRecord> found;
    for (const Measurement& measurement : measurements_)
      if (same_problem(measurement.problem, problem) && same_device(measurement.device, device))
        found.push_back(measurement.trial);
    return found;
  }

  CodeStanding standing(const std::string& code_digest) override {
    const std::lock_guard lock(mutex_);
    CodeStanding standing;
    for (const Measurement& measurement : measurements_) {
      const TrialRecord& trial = measurement.trial;
      if (trial.code_digest != code_digest) continue;
      if (is_failure(trial.status, trial.reason))
        return {.passed = standing.passed, .failure = trial.status, .reason = trial.reason};
      standing.passed = standing.passed || is_pass(trial.status, trial.reason);
    }
    return standing;
  }

  void add_trials(const ProblemKey& problem, const DeviceKey& device, std::span<const TrialRecord> trials) override {
    const std::lock_guard lock(mutex_);
    for (const TrialRecord& trial : trials) add_one(problem, device, trial);
  }

  void set_winner(const ProblemKey& problem, const DeviceKey& device, const WinnerRecord& winner) override {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(decisions_.begin(), decisions_.end(), [&](const Decision& d) {
      return same_problem(d.problem, problem) && same_device(d.device, device);
    });
    if (known == decisions_.end()) decisions_.push_back({problem, device, winner});
    else known->winner = winner;
  }

 private:
  void add_one(const ProblemKey& problem, const DeviceKey& device, const TrialRecord& trial) {
    const auto known = std::find_if(measurements_.begin(), measurements_.end(), [&](const Measurement& m) {
      return m.trial.family == trial.family && m.trial.config == trial.config &&
             m.trial.code_digest == trial.code_digest && same_problem(m.problem, problem) &&
             same_device(m.device, device);
    });
    if (known == measurements_.end()) measurements_.push_back({problem, device, trial});
    else known->trial = trial;
  }

  struct Measurement {
    ProblemKey problem;
    DeviceKey device;
    TrialRecord trial;
  };
  struct Decision {
    ProblemKey problem;
    DeviceKey device;
    WinnerRecord winner;
  };

  static bool serves(const ProblemKey& stored, const ProblemKey& problem) {
    const bool same_text = stored.exact == problem.exact || (!problem.plain.empty() && stored.exact == problem.plain);
    return stored.operation == problem.operation && same_text && stored.policy == problem.policy;
  }

  std::mutex mutex_;
  std::vector<Measurement> measurements_;
  std::vector<Decision> decisions_;
};

class MemoryCode final : public CodeStore {
 public:
  std::optional<device::Image> find(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto position = images_.find(key);
    return position == images_.end() ? std::nullopt : std::optional(position->second);
  }

  void put(const CodeEntry& entry, const device::Image& image) override {
    const std::lock_guard lock(mutex_);
    images_.insert_or_assign(entry.key, image);
  }

  void drop(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    images_.erase(key);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, device::Image> images_;
};

}  // namespace

Stores memory_stores() { return {.tuning = std::make_shared<MemoryTuning>(), .code = std::make_shared<MemoryCode>()}; }

}  // namespace vostok::plan
