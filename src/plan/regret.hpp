// The quality of choices made without measuring: each tuned problem is left out in turn, and chosen for
// as if it had not been tuned.
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

/// The time of one tuned problem by each way of choosing; nothing if a way gives no choice, or one never measured on
/// this problem.
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

/// The cost models' family and config; nothing if they are not known.
using Predictor =
    std::function<std::optional<std::pair<std::string, FieldMap>>(const ProblemKey& problem, const DeviceKey& device)>;

/// One entry for each tuned problem with a winner. Its rows on every device of its model are hidden, and the planner's
/// order of neighbours (plan/nearest.hpp) is followed to the first choice that was measured on the problem. Earlier
/// ones stand for choices that the rules would forbid there.
std::vector<LeftOut> leave_each_out(std::span<const TunedProblem> tuned, const Predictor& predicted);

/// Slow-down over the best, over all problems.
struct Regret {
  std::string way = {};  ///< "neighbour", "heuristic", "default"
  int problems = 0;      ///< for which this way gave a measured choice
  int absent = 0;        ///< for which it did not
  double geomean = 0;    ///< 0 where there is none
  double worst = 0;
  std::string worst_problem = {};
};

/// For each way, over these problems.
std::vector<Regret> regrets(std::span<const LeftOut> left_out);

}  // namespace vostok::plan
