// How good a choice is that was made without measuring: by leaving each tuned problem out and choosing for it as if it had not been tuned.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/stores.hpp"

namespace vostok::plan {

/// Everything that is stored of one problem on one device.
struct TunedProblem {
  ProblemKey problem = {};
  DeviceKey device = {};
  std::optional<WinnerRecord> winner = {};
  std::vector<TrialRecord> trials = {};
};

/// What one tuned problem takes by each way of choosing; nothing where that gives no choice, or one that was never measured on this problem.
struct LeftOut {
  ProblemKey problem = {};
  DeviceKey device = {};
  double best_us = 0;                            ///< of the winner
  std::optional<double> neighbour_us = {};       ///< of the nearest problem's or nearest device's choice
  Provenance neighbour = Provenance::heuristic;  ///< which of the two; heuristic: neither is near enough
  double distance = 0;                           ///< of the neighbour
  std::optional<double> heuristic_us = {};       ///< of the cost model's choice
  std::optional<double> default_us = {};         ///< of the fastest family's default config
};

/// Family and config that the cost model would take; nothing where that is not known.
using Predictor = std::function<std::optional<std::pair<std::string, FieldMap>>(const ProblemKey& problem, const DeviceKey& device)>;

/// One entry for each tuned problem with a winner. For each, its rows on every device of its model are hidden, and the planner's order of
/// neighbours (plan/nearest.hpp) is followed to the first choice that was measured on the problem: the others stand for choices that the rules
/// would forbid there.
std::vector<LeftOut> leave_each_out(std::span<const TunedProblem> tuned, const Predictor& predicted);

/// Times over the best, in all.
struct Regret {
  std::string way = {};  ///< "neighbour", "heuristic", "default"
  int problems = 0;      ///< that this way gave a measured choice for
  int absent = 0;        ///< that it did not
  double geomean = 0;    ///< 0 where there is none
  double worst = 0;
  std::string worst_problem = {};
};

/// For each way, over these problems.
std::vector<Regret> regrets(std::span<const LeftOut> left_out);

}  // namespace vostok::plan
