// From a problem to the state of its plan: what Context::plan calls. Each is defined in the operation's own file.
#pragma once

#include <memory>

#include "plan/decision.hpp"
#include "plan/planner.hpp"

namespace vostok::plan {

using PlanStatePointer = std::shared_ptr<const PlanState>;

PlanStatePointer make_plan(const Planner& planner, const Spmm& problem, const Topology& topology,
                           const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const Sddmm& problem, const Topology& topology,
                           const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const Softmax& problem, const Topology& topology,
                           const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const SoftmaxBackward& problem, const Topology& topology,
                           const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const SparseAttention& problem, const Topology& mask,
                           const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const SparseAttentionBackward& problem, const Topology& mask,
                           const PlanOptions& options);

PlanStatePointer make_plan(const Planner& planner, const DepthwiseConvolution& problem, const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const BiasActivation& problem, const PlanOptions& options);
PlanStatePointer make_plan(const Planner& planner, const Im2col& problem, const PlanOptions& options);

/// Plans a step of a composed plan for another mask. Its problem is the old one except for strides that follow the
/// mask.
PlanStatePointer rebind_plan(const PlanState& old, const Spmm& problem, const Topology& topology);
PlanStatePointer rebind_plan(const PlanState& old, const Sddmm& problem, const Topology& topology);
PlanStatePointer rebind_plan(const PlanState& old, const Softmax& problem, const Topology& topology);
PlanStatePointer rebind_plan(const PlanState& old, const SoftmaxBackward& problem, const Topology& topology);

/// What the plan of a step is expected to take (expected_of, plan/operation.hpp).
Expected expected(const Planner& planner, const Spmm& problem, const Topology& topology, const PlanOptions& options);
Expected expected(const Planner& planner, const Sddmm& problem, const Topology& topology, const PlanOptions& options);
Expected expected(const Planner& planner, const Softmax& problem, const Topology& topology, const PlanOptions& options);
Expected expected(const Planner& planner, const SoftmaxBackward& problem, const Topology& topology,
                  const PlanOptions& options);

}  // namespace vostok::plan
