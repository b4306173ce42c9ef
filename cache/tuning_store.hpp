// plan::TuningStore over layers of tuning.db.
#pragma once

#include <vector>

#include "cache/layers.hpp"
#include "cache/tuning_content.hpp"

namespace vostok::cache {

class TuningStore final : public plan::TuningStore {
 public:
  explicit TuningStore(const StoreSettings& settings);
  std::vector<plan::WinnerMatch> find(const plan::ProblemKey& problem, const plan::DeviceKey& device) override;
  std::vector<plan::WinnerMatch> find_same(const plan::ProblemKey& problem, const plan::DeviceKey& device) override;
  std::vector<plan::MaskedWinner> masked(const plan::ProblemKey& problem, const plan::DeviceKey& device) override;
  std::vector<plan::TrialRecord> trials(const plan::ProblemKey& problem, const plan::DeviceKey& device) override;
  plan::CodeStanding standing(const std::string& code_digest) override;
  void add_trials(const plan::ProblemKey& problem, const plan::DeviceKey& device,
                  std::span<const plan::TrialRecord> trials) override;
  void set_winner(const plan::ProblemKey& problem, const plan::DeviceKey& device,
                  const plan::WinnerRecord& winner) override;

  TuningContent own_rows();  ///< of the user's file and of memory
  /// Adds or replaces rows in one transaction, except what `here` has measured.
  void add_rows(const TuningContent& rows, const plan::DeviceKey& here);
  void reload();  ///< reads every file again, including those that had failed

  std::vector<LayerState> states(bool count_rows);  ///< opens every layer

 private:
  std::shared_ptr<const Reporter> reporter_;
  PerProcess<Layers> layers_;
};

}  // namespace vostok::cache
