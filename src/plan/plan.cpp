// The public handle of every plan: what the operations share.
#include <vostok/plan.hpp>

#include "base/boundary.hpp"
#include "base/text.hpp"
#include "plan/plan_state.hpp"
#include "plan/planner.hpp"

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

const char* name(Policy policy) {
  switch (policy) {
    case Policy::warm: return "warm";
    case Policy::cold: return "cold";
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

namespace plan {

void fail_empty_plan(const char* verb, const char* object) {
  fail(ErrorCode::invalid_argument, "cannot {} {}: the plan handle is empty", verb, object);
}

}  // namespace plan

Explanation PlanState::explain(Detail detail) const {
  const plan::Choice* choice = main_choice();
  if (choice == nullptr) return {.note = "nothing to compute: the output has no elements"};
  return planner->explain(*choice, detail);
}

namespace {

const PlanState& checked(const AnyPlan& plan) { return plan::state_of(plan, "use", "a plan"); }

}  // namespace

std::int64_t AnyPlan::workspace_bytes() const { return checked(*this).workspace_bytes; }

Workspace AnyPlan::make_workspace() const {
  const PlanState& state = checked(*this);
  state.session->device().require_here("make a workspace");
  if (state.workspace_bytes == 0) return {};
  return at_boundary("make", "workspace", [&] {
    // The session lives as long as the memory: it owns the device.
    const std::shared_ptr<plan::Session> session = state.session;
    auto memory = std::shared_ptr<void>(session->device().allocate(state.workspace_bytes),
                                        [session](void* pointer) { session->device().release_behind(pointer, {}); });
    return Workspace(std::move(memory), state.workspace_bytes);
  });
}

Provenance AnyPlan::provenance() const {
  const plan::Choice* choice = checked(*this).main_choice();
  return choice == nullptr ? Provenance::heuristic : choice->decision->provenance;
}

std::string AnyPlan::family() const {
  const plan::Choice* choice = checked(*this).main_choice();
  return choice == nullptr ? std::string() : std::string(choice->decision->family->name());
}

FieldMap AnyPlan::config() const {
  const plan::Choice* choice = checked(*this).main_choice();
  return choice == nullptr ? FieldMap() : choice->decision->config.to_map();
}

Explanation AnyPlan::explain(Detail detail) const {
  const PlanState& state = checked(*this);
  state.session->device().require_here("explain a plan");
  if (detail != Detail::choice && detail != Detail::trials)
    fail(ErrorCode::invalid_argument, "cannot explain a plan: detail = {} is no enumerator", static_cast<int>(detail));
  return at_boundary("explain", "a plan", [&] { return state.explain(detail); });
}

}  // namespace vostok
