// Chooses winners again from stored trials, without a GPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/tuning_content.hpp"
#include "tune/choice.hpp"

namespace vostok::cache {

struct RankSettings {
  std::optional<std::string> policy = {};  ///< only problems measured with this policy ("warm", "cold"); nothing: all
  double tie = tune::equal_share;          ///< candidates within this share of the best count as equal
};

/// A winner that differs from the previous one.
struct RankChange {
  WinnerRow before;  ///< its family is empty if there was none
  WinnerRow after;
};

struct Ranking {
  TuningContent content;  ///< the same trials and errata, with the new winners
  std::vector<RankChange> changes;
  int subjects = 0;  ///< problems on devices that have a trial to choose from
};

/// Makes the tuner's choice among stored trials. For each config only those of its newest code count; code that failed
/// anywhere, or that errata mask, is excluded. Ties are broken as by the tuner (tune/choice.hpp). Winners without
/// trials stay. Pure: equal content gives equal winners.
Ranking ranked(const TuningContent& content, const RankSettings& settings);

/// Machine code that failed anywhere: "family digest". Code that was never compiled has no digest and is never banned.
std::vector<std::string> banned_code(const std::vector<TrialRow>& trials);
bool is_banned(const std::vector<std::string>& banned, const std::string& family, const std::string& code_digest);
inline bool is_banned(const std::vector<std::string>& banned, const plan::TrialRecord& trial) {
  return is_banned(banned, trial.family, trial.code_digest);
}

/// Trials whose config has a trial of newer machine code for the same problem and device.
std::vector<const TrialRow*> stale_trials(const std::vector<TrialRow>& trials);

}  // namespace vostok::cache
