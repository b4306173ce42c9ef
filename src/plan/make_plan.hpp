// From a problem to the state of its plan: what Context::plan calls.
#pragma once

#include <memory>

#include "plan/planner.hpp"

namespace vostok::plan {

/// Defined for each problem in the operation's own file.
std::shared_ptr<const PlanState> make_plan(const Planner& planner, const Spmm& problem, const Topology& topology, const PlanOptions& options);

}  // namespace vostok::plan
