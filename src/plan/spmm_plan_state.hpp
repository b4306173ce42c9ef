// What an SpmmPlan handle points at: everything `execute` needs, decided and immutable.
#pragma once

#include <memory>
#include <vector>

#include <vostok/plan.hpp>

#include "plan/decision.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace plan {
class SpmmPlanner;
}

struct SpmmPlanState {
  /// The launch that serves 1 (or n_least) <= n <= n_most.
  struct Choice {
    std::int64_t n_most = 0;
    std::shared_ptr<const plan::Decision> decision;
    ops::SpmmLaunch launch;
  };

  std::shared_ptr<const plan::SpmmPlanner> planner;  ///< for rebind and explain
  std::shared_ptr<plan::Session> session;
  Topology topology;
  Spmm problem;               ///< as the user gave it
  PlanOptions options;        ///< as the user gave them: rebind plans anew with these
  std::vector<Choice> choices;  ///< ascending n_most; empty: nothing to compute (no rows or no columns)

  bool several_n() const { return !problem.n_values.empty(); }
  void execute(Stream stream, const SpmmArguments& arguments) const;

 private:
  std::int64_t size_of_call(const SpmmArguments& arguments) const;
  void require_operands(const SpmmArguments& arguments) const;
};

}  // namespace vostok
