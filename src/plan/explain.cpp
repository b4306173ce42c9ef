// What a plan tells about itself.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "ops/product_bound.hpp"
#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "plan/planner.hpp"

namespace vostok {

namespace plan {

namespace {

Trial to_trial(const TrialRecord& record) {
  Trial trial{.family = record.family, .config = record.config, .is_default = record.is_default};
  if (record.status != "measured")
    trial.rejected = record.reason.empty() ? record.status : fmt::format("{}: {}", record.status, record.reason);
  trial.median_us = record.median_us;
  trial.spread_us = record.spread_us;
  trial.rounds = record.rounds;
  return trial;
}

/// Adds the configs that the rules forbid, with reasons; they never became trials.
void add_forbidden(const ops::Query& query, std::int64_t max_workspace_bytes, std::vector<Trial>& trials) {
  for (const auto& family : ops::families(query.operation)) {
    if (auto reason = declined(*family, query)) {
      trials.push_back({.family = std::string(family->name()), .rejected = *reason});
      continue;
    }
    for (const ops::Config& config : family->space(query))
      if (auto reason = forbidden(*family, query, config, max_workspace_bytes))
        trials.push_back({.family = std::string(family->name()), .config = config.to_map(), .rejected = *reason});
  }
}

}  // namespace

Explanation Planner::explain(const Choice& choice, Detail detail) const {
  const Decision& decision = *choice.decision;
  Explanation explanation{.operation = std::string(choice.query->operation),
                          .family = std::string(decision.family->name()),
                          .config = decision.config.to_map(),
                          .provenance = decision.provenance,
                          .note = decision.note};
  explanation.median_us = decision.median_us;
  explanation.speedup_over_default = decision.speedup_over_default;
  if (const auto bound = ops::product_bound(*choice.query)) {
    explanation.bound_us = bound->us();
    explanation.is_slow = bound->exceeded_by(plan::expected_us(*choice.query, decision));
  }
  if (detail == Detail::choice) return explanation;

  for (const TrialRecord& record : session_->tuning().trials(problem_key(*choice.query), session_->device_key()))
    explanation.trials.push_back(to_trial(record));
  for (const MaskedWinner& masked : session_->tuning().masked(problem_key(*choice.query), session_->device_key()))
    explanation.trials.push_back(
        {.family = masked.winner.family, .config = masked.winner.config, .rejected = "masked by " + masked.by});
  add_forbidden(*choice.query, session_->max_workspace_bytes(), explanation.trials);
  const auto order = [](const Trial& trial) {
    return trial.median_us.value_or(std::numeric_limits<double>::infinity());
  };
  std::stable_sort(explanation.trials.begin(), explanation.trials.end(),
                   [&](const Trial& a, const Trial& b) { return order(a) < order(b); });
  return explanation;
}

}  // namespace plan

std::string Explanation::text() const {
  if (!steps.empty()) {
    std::string text = config.empty() ? "" : fmt::format("{} {}\n", family, to_text(config));
    for (const Explanation& step : steps) text += step.text();
    return text;
  }
  if (family.empty()) return note + "\n";
  std::string text = fmt::format("{} {} {}\n  from: {}{}{}\n", operation, family, to_text(config), name(provenance),
                                 note.empty() ? "" : ", ", note);
  if (median_us) text += fmt::format("  median when tuned: {:.2f} us\n", *median_us);
  if (speedup_over_default) text += fmt::format("  over the default config: {:.2f}x\n", *speedup_over_default);

  if (is_slow && bound_us)
    text += fmt::format(
        "  slow: more than twice 3 us and what memory or the dense product ask for ({:.2f} us); tune it, or take the "
        "dense product\n",
        *bound_us);

  constexpr std::size_t shown = 10;
  std::size_t measured = 0;
  std::map<std::string, int> rejections;
  for (const Trial& trial : trials) {
    if (!trial.rejected.empty()) ++rejections[trial.family + ": " + trial.rejected];
    if (!trial.median_us || ++measured > shown) continue;
    text += fmt::format("  {:9.2f} us +- {:.2f} ({} rounds){} {} {}\n", *trial.median_us, trial.spread_us.value_or(0),
                        trial.rounds, trial.is_default ? " default" : "", trial.family, to_text(trial.config));
  }
  if (measured > shown) text += fmt::format("  ... and {} slower ones\n", measured - shown);
  for (const auto& [reason, count] : rejections) text += fmt::format("  rejected {}: {}\n", count, reason);
  return text;
}

}  // namespace vostok
