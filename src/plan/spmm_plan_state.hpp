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
  /// The launch that serves a range of n.
  struct Choice {
    ops::SizeRange n;
    std::shared_ptr<const plan::Decision> decision;
    ops::SpmmLaunch launch;
  };

  std::shared_ptr<const plan::SpmmPlanner> planner;  ///< for rebind and explain
  std::shared_ptr<plan::Session> session;
  Topology topology;
  Spmm problem;         ///< as the user gave it
  PlanOptions options;  ///< as the user gave them: rebind plans anew with these
  std::int64_t n_largest = 0;
  std::vector<Choice> choices;  ///< by ascending n.most; empty: nothing to compute (no rows or no columns)

  bool several_n() const { return !problem.n_values.empty(); }
  /// The first that serves n; n is in 1..n_largest, and there is a choice.
  const Choice& choice_for(std::int64_t n) const {
    const Choice* choice = choices.data();
    while (!choice->n.serves(n)) ++choice;
    return *choice;
  }
  void execute(Stream stream, const SpmmArguments& arguments) const;

 private:
  std::int64_t size_of_call(const SpmmArguments& arguments) const;
  void require_operands(const SpmmArguments& arguments) const;
};

}  // namespace vostok
