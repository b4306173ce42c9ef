// A plan that executes other plans one after the other, with parts of one workspace between them.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "plan/make_plan.hpp"

namespace vostok::plan {

template <class Problem>
struct ComposedState : PlanStateOf<Problem> {
  std::int64_t saved_bytes = 0;

  /// In the order of execution; family() reports the last.
  virtual std::vector<const AnyPlan*> steps() const = 0;

  /// What `execute` checks first.
  void require_call(const char* object, Pointers pointers, const void* workspace) const {
    const WorkspaceOfCall scratch{workspace, this->workspace_bytes};
    require_pointers(object, this->operands, pointers);
    require_workspace(object, scratch);
    if (may_overlap(this->operands, pointers, scratch)) require_apart(object, this->operands, pointers, scratch);
  }

  const Choice* main_choice() const override { return steps().back()->state()->main_choice(); }
  Explanation explain(Detail detail) const override {
    Explanation explanation{.family = "composed", .provenance = Provenance::heuristic};
    for (const AnyPlan* step : steps()) explanation.steps.push_back(step->explain(detail));
    if (const Choice* choice = main_choice()) explanation.provenance = choice->decision->provenance;
    return explanation;
  }

 protected:
  /// The largest workspace of any step: they run one after the other.
  std::int64_t step_workspace_bytes() const {
    std::int64_t bytes = 0;
    for (const AnyPlan* step : steps()) bytes = std::max(bytes, step->workspace_bytes());
    return bytes;
  }
};

/// Plans the steps of a new state. `of` gives the steps' problems, and state.each_step() visits them.
template <class State, class Problems>
void plan_steps(State& state, const Problems& of) {
  PlanOptions share = state.options;  // the budget is the whole plan's
  share.budget_seconds /= static_cast<double>(state.steps().size());
  state.each_step(of, [&](auto step, const auto& problem) {
    using Step = std::remove_cvref_t<decltype(state.*step)>;
    state.*step = Step(make_plan(*state.planner, problem, state.topology, share));
  });
  state.carve(of);
}

/// Rebinds the old state's steps to the new state's mask.
template <class State, class Problems>
void rebind_steps(State& state, const State& old, const Problems& of) {
  state.each_step(of, [&](auto step, const auto& problem) {
    using Step = std::remove_cvref_t<decltype(state.*step)>;
    state.*step = Step(rebind_plan(*(old.*step).state(), problem, state.topology));
  });
  state.carve(of);
}

/// The part of a workspace at an offset.
inline void* part(void* workspace, std::int64_t offset) { return static_cast<char*>(workspace) + offset; }

}  // namespace vostok::plan
