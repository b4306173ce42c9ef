// What a plan handle points at: everything `execute` needs, decided and immutable.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <vostok/plan.hpp>

#include "plan/decision.hpp"
#include "plan/operands.hpp"
#include "plan/packed_state.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace plan {
class Planner;

/// The choice for one range of n: a query, its decision, and the launches of one execute.
struct Choice {
  std::shared_ptr<const ops::Query> query;
  std::shared_ptr<const Decision> decision;
  std::vector<ops::Launch> launches;
  std::int64_t workspace_bytes = 0;
  std::shared_ptr<const void> source = {};  ///< keeps alive what the launches read of the topology besides packed forms
};

}  // namespace plan

struct PlanState {
  PlanState() = default;
  PlanState(const PlanState&) = delete;
  PlanState& operator=(const PlanState&) = delete;
  virtual ~PlanState() = default;

  virtual Explanation explain(Detail detail) const;
  /// The choice that family() and config() report; null if there is nothing to compute.
  virtual const plan::Choice* main_choice() const {
    return choices.empty() ? nullptr : &choice_for(choices.back().query->n.most);
  }

  /// The first that serves n; there is one.
  const plan::Choice& choice_for(std::int64_t n) const {
    const plan::Choice* choice = choices.data();
    while (!choice->query->n.serves(n)) ++choice;
    return *choice;
  }

  std::shared_ptr<const plan::Planner> planner;
  std::shared_ptr<plan::Session> session;
  Topology topology;                    ///< empty for operations without one
  PlanOptions options;                  ///< as the user gave them: rebind plans anew with these
  std::vector<plan::Choice> choices;    ///< by ascending n.most; empty: nothing to compute
  std::vector<plan::Operand> operands;  ///< the arguments of `execute`, for the largest n
  std::int64_t workspace_bytes = 0;     ///< the largest of the choices'
  std::optional<plan::PackedKind> packed =
      {};  ///< the kind that `.packed` of execute must have; nothing if values are passed as they are
};

namespace plan {

/// The state of a plan for one problem.
template <class Problem>
struct PlanStateOf : PlanState {
  Problem problem;  ///< as the user gave it
};

[[noreturn]] void fail_empty_plan(const char* verb, const char* object);

/// The state behind a handle; invalid_argument where it is empty, saying what cannot be done: "execute", "SpMM".
template <class State = PlanState>
const State& state_of(const AnyPlan& plan, const char* verb, const char* object) {
  if (!plan) fail_empty_plan(verb, object);
  return static_cast<const State&>(*plan.state());
}

}  // namespace plan
}  // namespace vostok
