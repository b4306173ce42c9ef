// A plan that executes other plans one after the other, with parts of one workspace between them.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/plan_state.hpp"

namespace vostok::plan {

template <class Problem>
struct ComposedState : PlanStateOf<Problem> {
  std::int64_t saved_bytes = 0;

  /// In the order of execution; the last is what family() tells of.
  virtual std::vector<const AnyPlan*> steps() const = 0;

  const Choice* main_choice() const override { return steps().back()->state()->main_choice(); }
  Explanation explain() const override {
    Explanation explanation{.family = "composed", .provenance = Provenance::heuristic};
    for (const AnyPlan* step : steps()) explanation.steps.push_back(step->explain());
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

/// The part of a workspace at an offset.
inline void* part(void* workspace, std::int64_t offset) { return static_cast<char*>(workspace) + offset; }

}  // namespace vostok::plan
