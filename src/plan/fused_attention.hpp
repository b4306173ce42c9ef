// Attention without scores in memory, forward and backward, as plans: a step that stands for all of the composition's.
#pragma once

#include <array>

#include "ops/attention/problem.hpp"
#include "plan/attention_steps.hpp"
#include "plan/decision.hpp"
#include "plan/make_plan.hpp"

namespace vostok {

namespace plan {

PlanStatePointer make_plan(const Planner& planner, const FusedAttention& problem, const Topology& mask,
                           const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const FusedAttentionBackward& problem, const Topology& mask,
                           const PlanOptions& options);
PlanStatePointer rebind_plan(const PlanState& old, const FusedAttention& problem, const Topology& mask);
PlanStatePointer rebind_plan(const PlanState& old, const FusedAttentionBackward& problem, const Topology& mask);

/// Whether a family of this name computes attention or its gradients so.
bool is_fused_family(const std::string& name);

/// What the plan is expected to take; infinite where no family serves the problem.
Expected expected(const Planner& planner, const FusedAttention& problem, const Topology& mask,
                  const PlanOptions& options);
Expected expected(const Planner& planner, const FusedAttentionBackward& problem, const Topology& mask,
                  const PlanOptions& options);

}  // namespace plan

extern template class Plan<FusedAttention>;
extern template class Plan<FusedAttentionBackward>;

}  // namespace vostok
