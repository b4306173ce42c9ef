// The recipe from an SpMM problem to a plan (design, section 5).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/single_flight.hpp"
#include "plan/decision.hpp"
#include "plan/spmm_plan_state.hpp"

namespace vostok::plan {

class SpmmPlanner : public std::enable_shared_from_this<SpmmPlanner> {
 public:
  explicit SpmmPlanner(std::shared_ptr<Session> session) : session_(std::move(session)), kernels_(session_) {}

  /// Context::plan.
  std::shared_ptr<const SpmmPlanState> plan(const Spmm& problem, const Topology& topology, const PlanOptions& options) const;
  /// SpmmPlan::rebind.
  std::shared_ptr<const SpmmPlanState> rebind(const SpmmPlanState& state, const Topology& topology) const;
  /// SpmmPlan::explain, for the choice that serves the largest n.
  Explanation explain(const SpmmPlanState& state) const;

 private:
  ops::SpmmQuery make_query(const Spmm& problem, const TopologyStatistics& statistics, const ops::SizeRange& n) const;
  std::shared_ptr<SpmmPlanState> empty_state(const Spmm& problem, const Topology& topology, const PlanOptions& options) const;
  SpmmPlanState::Choice make_choice(const ops::SpmmQuery& query, std::shared_ptr<const Decision> decision, const Topology& topology) const;

  std::shared_ptr<const Decision> decide(const ops::SpmmQuery& query, const Topology& topology, const PlanOptions& options) const;
  Decision decide_once(const ops::SpmmQuery& query, const Topology& topology, const PlanOptions& options) const;
  std::optional<Decision> stored(const ops::SpmmQuery& query, std::optional<Effort> at_least) const;
  std::optional<Decision> from_match(const ops::SpmmQuery& query, const WinnerMatch& match) const;
  Decision heuristic(const ops::SpmmQuery& query, std::string note) const;
  Decision tuned(const ops::SpmmQuery& query, const Topology& topology, const PlanOptions& options) const;
  Decision with_kernel(const ops::SpmmQuery& query, Decision decision) const;

  std::shared_ptr<Session> session_;
  mutable Kernels kernels_;
  mutable SingleFlight<std::string, Decision> memo_;  ///< never holds a plan, a topology or device memory
};

}  // namespace vostok::plan
