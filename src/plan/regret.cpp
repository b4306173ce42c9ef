#include "plan/regret.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "plan/nearest.hpp"
#include "tune/choice.hpp"

namespace vostok::plan {

namespace {

/// The time of a config, from its most thorough measurement; nothing if it was not measured.
std::optional<double> time_of(const TunedProblem& tuned, const std::string& family, const FieldMap& config) {
  const TrialRecord* found = nullptr;
  for (const TrialRecord& trial : tuned.trials)
    if (trial.median_us && trial.family == family && trial.config == config &&
        (found == nullptr || trial.rounds > found->rounds))
      found = &trial;
  return found != nullptr ? found->median_us : std::nullopt;
}

/// The winners that the planner would know if this problem had not been tuned on devices of this model.
std::vector<StoredWinner> other_winners(std::span<const TunedProblem> tuned, const TunedProblem& left_out) {
  std::vector<StoredWinner> rows;
  for (const TunedProblem& other : tuned) {
    const ProblemKey &a = other.problem, &b = left_out.problem;
    if (!other.winner || a.operation != b.operation || a.exact != b.exact || a.policy != b.policy) continue;
    if (a.features == b.features && same_model(other.device, left_out.device)) continue;
    rows.push_back({.winner = *other.winner, .device = other.device, .features = a.features});
  }
  return rows;
}

LeftOut leave_out(std::span<const TunedProblem> tuned, const TunedProblem& problem, double best_us,
                  const Predictor& predicted) {
  LeftOut left_out{
      .problem = problem.problem,
      .device = problem.device,
      .best_us = best_us,
      .default_us = tune::fastest_default(problem.trials, &TrialRecord::is_default, &TrialRecord::median_us)};
  for (const WinnerMatch& match : best_first(other_winners(tuned, problem), problem.problem, problem.device)) {
    const auto us = time_of(problem, match.winner.family, match.winner.config);
    if (!us) continue;
    left_out.neighbour_us = us;
    left_out.neighbour = match.provenance;
    left_out.distance = match.distance;
    break;
  }
  if (const auto choice = predicted(problem.problem, problem.device))
    left_out.heuristic_us = time_of(problem, choice->first, choice->second);
  return left_out;
}

std::string words(const LeftOut& left_out) {
  const Features& f = left_out.problem.features;
  return fmt::format("{} m {} k {} n {} nonzeros {} on {}", left_out.problem.operation, f.m, f.k, f.n, f.nonzeros,
                     left_out.device.name);
}

Regret regret_of(const char* way, std::span<const LeftOut> all, std::optional<double> LeftOut::* us) {
  Regret regret{.way = way};
  double sum_of_logs = 0;
  for (const LeftOut& left_out : all) {
    const std::optional<double>& taken_us = left_out.*us;
    if (!taken_us) {
      ++regret.absent;
      continue;
    }
    const double ratio = *taken_us / left_out.best_us;
    ++regret.problems;
    sum_of_logs += std::log(ratio);
    if (ratio <= regret.worst) continue;
    regret.worst = ratio;
    regret.worst_problem = words(left_out);
  }
  if (regret.problems > 0) regret.geomean = std::exp(sum_of_logs / regret.problems);
  return regret;
}

}  // namespace

std::vector<LeftOut> leave_each_out(std::span<const TunedProblem> tuned, const Predictor& predicted) {
  std::vector<LeftOut> all;
  for (const TunedProblem& problem : tuned)
    if (problem.winner && problem.winner->median_us > 0)
      all.push_back(leave_out(tuned, problem, problem.winner->median_us, predicted));
  return all;
}

std::vector<Regret> regrets(std::span<const LeftOut> left_out) {
  return {regret_of("neighbour", left_out, &LeftOut::neighbour_us),
          regret_of("heuristic", left_out, &LeftOut::heuristic_us),
          regret_of("default", left_out, &LeftOut::default_us)};
}

}  // namespace vostok::plan
