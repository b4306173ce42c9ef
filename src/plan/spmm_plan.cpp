// The public handle, SpmmPlan: everything but `execute`.
#include <vostok/plan.hpp>

#include "base/text.hpp"
#include "plan/spmm_planner.hpp"

namespace vostok {

const char* name(Effort effort) {
  switch (effort) {
    case Effort::heuristic: return "heuristic";
    case Effort::cached: return "cached";
    case Effort::quick: return "quick";
    case Effort::full: return "full";
  }
  return nullptr;
}

const char* name(Provenance provenance) {
  switch (provenance) {
    case Provenance::tuned_here: return "tuned_here";
    case Provenance::tuned_elsewhere: return "tuned_elsewhere";
    case Provenance::shipped: return "shipped";
    case Provenance::nearest_problem: return "nearest_problem";
    case Provenance::nearest_device: return "nearest_device";
    case Provenance::heuristic: return "heuristic";
  }
  return nullptr;
}

namespace {

const SpmmPlanState& checked(const std::shared_ptr<const SpmmPlanState>& state) {
  if (!state) fail(ErrorCode::invalid_argument, "cannot use SpMM plan: the handle is empty");
  return *state;
}

}  // namespace

std::int64_t SpmmPlan::workspace_bytes() const {
  checked(state_);
  return 0;  // row_tile, the one family so far, needs none
}

Workspace SpmmPlan::make_workspace() const {
  checked(state_);
  return {};
}

SpmmPlan SpmmPlan::rebind(const Topology& topology) const {
  const SpmmPlanState& state = checked(state_);
  return SpmmPlan(state.planner->rebind(state, topology));
}

Provenance SpmmPlan::provenance() const {
  const SpmmPlanState& state = checked(state_);
  return state.choices.empty() ? Provenance::heuristic : state.choice_for(state.n_largest).decision->provenance;
}

std::string SpmmPlan::family() const {
  const SpmmPlanState& state = checked(state_);
  return state.choices.empty() ? std::string() : std::string(state.choice_for(state.n_largest).decision->family->name());
}

FieldMap SpmmPlan::config() const {
  const SpmmPlanState& state = checked(state_);
  return state.choices.empty() ? FieldMap() : state.choice_for(state.n_largest).decision->config;
}

Explanation SpmmPlan::explain() const {
  const SpmmPlanState& state = checked(state_);
  return state.planner->explain(state);
}

const Spmm& SpmmPlan::problem() const { return checked(state_).problem; }

}  // namespace vostok
