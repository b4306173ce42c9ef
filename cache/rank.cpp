#include "cache/rank.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/version.hpp"
#include "tune/choice.hpp"

namespace vostok::cache {

namespace {

using Trials = std::vector<const TrialRow*>;

std::string config_name(const TrialRow& row) {
  return subject_name(row.problem, row.device) + " " +
         to_text({{"family", row.trial.family}, {"config", to_text(row.trial.config)}});
}

std::string code_name(const std::string& family, const std::string& code_digest) { return family + " " + code_digest; }

/// The trial of the newest code, for each config of each problem and device.
std::map<std::string, const TrialRow*> newest_trials(const std::vector<TrialRow>& trials) {
  const auto age = [](const TrialRow& row) {
    return std::tuple(row.trial.measured_at, row.trial.rounds, row.trial.code_digest);
  };
  std::map<std::string, const TrialRow*> newest;
  for (const TrialRow& row : trials) {
    const auto [known, is_new] = newest.emplace(config_name(row), &row);
    if (!is_new && age(*known->second) < age(row)) known->second = &row;
  }
  return newest;
}

std::map<std::string, Trials> by_subject(const std::vector<TrialRow>& trials) {
  std::map<std::string, Trials> groups;
  for (const auto& [name, row] : newest_trials(trials)) groups[subject_name(row->problem, row->device)].push_back(row);
  return groups;
}

const TrialRow* choose_among(const Trials& trials, double tie) {
  std::vector<tune::Result> results;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const plan::TrialRecord& trial = trials[i]->trial;
    tune::Result result;
    result.candidate = i;
    result.status = trial.status;
    result.median_us = trial.median_us;
    result.spread_us = trial.spread_us;
    result.rounds = trial.rounds;
    results.push_back(std::move(result));
  }
  const auto stored = [&](std::size_t i) -> tune::StoredCandidate {
    const plan::TrialRecord& trial = trials[i]->trial;
    return {.family = trial.family, .config = trial.config, .is_default = trial.is_default};
  };
  const auto chosen = tune::choose(results, stored, tie);
  return chosen ? trials[*chosen] : nullptr;
}

std::optional<double> default_median(const Trials& trials) {
  return tune::fastest_default(
      trials, [](const TrialRow* row) { return row->trial.is_default; },
      [](const TrialRow* row) { return row->trial.median_us; });
}

/// The winner's row from its trial, completed by the previous winner's.
WinnerRow winner_of(const TrialRow& row, const std::optional<double>& default_median_us, const WinnerRow* before) {
  const plan::TrialRecord& trial = row.trial;
  return {.problem = row.problem,
          .device = row.device,
          .winner = {.family = trial.family,
                     .config = trial.config,
                     .code_digest = trial.code_digest,
                     .median_us = trial.median_us.value_or(0),
                     .default_median_us = default_median_us,
                     .rounds = trial.rounds,
                     .effort = before != nullptr ? before->winner.effort : Effort::quick,
                     .library_version = before != nullptr ? before->winner.library_version : library_version},
          .decided_at = trial.measured_at};
}

bool same_choice(const WinnerRow& a, const WinnerRow& b) {
  return a.winner.family == b.winner.family && a.winner.config == b.winner.config &&
         a.winner.code_digest == b.winner.code_digest;
}

class Ranker {
 public:
  Ranker(const TuningContent& content, RankSettings settings)
      : settings_(std::move(settings)),
        banned_(banned_code(content.trials)),
        ranking_{.content = content, .changes = {}} {
    for (const WinnerRow& winner : content.winners) winners_.emplace(row_name(winner), winner);
  }

  Ranking run() {
    for (const auto& [subject, trials] : by_subject(ranking_.content.trials))
      if (!settings_.policy || trials.front()->problem.policy == *settings_.policy) rank(subject, trials);
    ranking_.content.winners.clear();
    for (auto& [subject, winner] : winners_) ranking_.content.winners.push_back(std::move(winner));
    return std::move(ranking_);
  }

 private:
  bool may_win(const TrialRow& row) const {
    const plan::TrialRecord& trial = row.trial;
    return plan::is_pass(trial.status, trial.reason) && trial.median_us && !is_banned(banned_, trial) &&
           !masked(ranking_.content.errata, {.problem = row.problem,
                                             .architecture = row.device.architecture,
                                             .family = trial.family,
                                             .config = trial.config,
                                             .code_digest = trial.code_digest,
                                             .library_version = {}});
  }

  void rank(const std::string& subject, const Trials& trials) {
    Trials candidates;
    for (const TrialRow* row : trials)
      if (may_win(*row)) candidates.push_back(row);
    const TrialRow* chosen = choose_among(candidates, settings_.tie);
    if (chosen == nullptr) return;
    ++ranking_.subjects;
    const auto known = winners_.find(subject);
    const WinnerRow* before = known == winners_.end() ? nullptr : &known->second;
    WinnerRow after = winner_of(*chosen, default_median(candidates), before);
    if (before == nullptr || !same_choice(*before, after))
      ranking_.changes.push_back({before == nullptr ? WinnerRow{} : *before, after});
    winners_.insert_or_assign(subject, std::move(after));
  }

  RankSettings settings_;
  std::vector<std::string> banned_;
  std::map<std::string, WinnerRow> winners_;
  Ranking ranking_;
};

}  // namespace

Ranking ranked(const TuningContent& content, const RankSettings& settings) { return Ranker(content, settings).run(); }

std::vector<std::string> banned_code(const std::vector<TrialRow>& trials) {
  std::set<std::string> banned;
  for (const TrialRow& row : trials)
    if (plan::is_failure(row.trial.status, row.trial.reason) && !row.trial.code_digest.empty())
      banned.insert(code_name(row.trial.family, row.trial.code_digest));
  return {banned.begin(), banned.end()};
}

bool is_banned(const std::vector<std::string>& banned, const std::string& family, const std::string& code_digest) {
  return std::binary_search(banned.begin(), banned.end(), code_name(family, code_digest));
}

std::vector<const TrialRow*> stale_trials(const std::vector<TrialRow>& trials) {
  const auto newest = newest_trials(trials);
  std::vector<const TrialRow*> stale;
  for (const TrialRow& row : trials)
    if (newest.at(config_name(row))->trial.code_digest != row.trial.code_digest) stale.push_back(&row);
  return stale;
}

}  // namespace vostok::cache
