#include "plan/spmm_planner.hpp"

#include <limits>
#include <utility>

#include "base/text.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/features.hpp"

namespace vostok::plan {

namespace {

void require_topology(const Topology& topology, const Session& session) {
  if (!topology) fail(ErrorCode::invalid_argument, "cannot plan SpMM: the topology handle is empty");
  if (topology.state()->session().get() != &session) fail(ErrorCode::wrong_device, "cannot plan SpMM: the topology belongs to another context");
}

std::string describe_match(const WinnerMatch& match) {
  if (match.distance == 0) return fmt::format("on {}", match.device.name);
  return fmt::format("at distance {:.2f}: m {} k {} n {} nonzeros {} on {}", match.distance, match.features.m, match.features.k, match.features.n,
                     match.features.nonzeros, match.device.name);
}

}  // namespace

ops::SpmmQuery SpmmPlanner::make_query(const Spmm& problem, const TopologyStatistics& statistics, const ops::SizeRange& n) const {
  return {.problem = ops::resolve(problem, n.most), .statistics = statistics, .n = n, .device = &session_->device()};
}

std::shared_ptr<SpmmPlanState> SpmmPlanner::empty_state(const Spmm& problem, const Topology& topology, const PlanOptions& options) const {
  auto state = std::make_shared<SpmmPlanState>();
  state->planner = shared_from_this();
  state->session = session_;
  state->topology = topology;
  state->problem = problem;
  state->options = options;
  state->n_largest = ops::largest_size(problem);
  return state;
}

SpmmPlanState::Choice SpmmPlanner::make_choice(const ops::SpmmQuery& query, std::shared_ptr<const Decision> decision,
                                               const Topology& topology) const {
  ops::SpmmLaunch launch = decision->family->launch(query, decision->config);
  if (launch.argument_bytes > ops::max_argument_bytes)
    fail(ErrorCode::internal, "cannot plan SpMM: {} bytes of arguments are more than {}", launch.argument_bytes, ops::max_argument_bytes);
  launch.kernel = decision->kernel->kernel;
  launch.topology = topology.state()->pointers(decision->family->needs_row_order(decision->config));
  return {.n = query.n, .decision = std::move(decision), .launch = std::move(launch)};
}

std::shared_ptr<const SpmmPlanState> SpmmPlanner::plan(const Spmm& problem, const Topology& topology, const PlanOptions& options) const {
  session_->require_no_capture(options.stream, "plan SpMM");
  require_topology(topology, *session_);
  ops::validate(problem, topology.statistics());
  auto state = empty_state(problem, topology, options);
  if (topology.rows() == 0) return state;
  for (const ops::SizeRange& n : ops::size_ranges(problem)) {
    const ops::SpmmQuery query = make_query(problem, topology.statistics(), n);
    state->choices.push_back(make_choice(query, decide(query, topology, options), topology));
  }
  return state;
}

std::shared_ptr<const SpmmPlanState> SpmmPlanner::rebind(const SpmmPlanState& old, const Topology& topology) const {
  session_->require_no_capture(old.options.stream, "rebind SpMM");
  require_topology(topology, *session_);
  if (topology.rows() != old.topology.rows() || topology.cols() != old.topology.cols())
    fail(ErrorCode::invalid_argument, "cannot rebind SpMM: the plan is for {}x{}, and the topology is {}x{}", old.topology.rows(),
         old.topology.cols(), topology.rows(), topology.cols());
  if (feature_bucket(topology.statistics()) != feature_bucket(old.topology.statistics())) return plan(old.problem, topology, old.options);

  auto state = empty_state(old.problem, topology, old.options);
  for (const SpmmPlanState::Choice& choice : old.choices) {
    const ops::SpmmQuery query = make_query(old.problem, topology.statistics(), choice.n);
    const Decision& decision = *choice.decision;
    // What the kernel takes from the problem must not have changed with the mask (the longest row can change it).
    const bool same_kernel = !decision.family->forbidden(query, decision.config) &&
                             decision.family->kernel(query, decision.config).expression == decision.request.expression;
    if (!same_kernel) return plan(old.problem, topology, old.options);
    state->choices.push_back(make_choice(query, choice.decision, topology));
  }
  return state;
}

std::shared_ptr<const Decision> SpmmPlanner::decide(const ops::SpmmQuery& query, const Topology& topology, const PlanOptions& options) const {
  bool made = false;
  auto decision = memo_.get(memo_key(query, options.effort), [&] {
    made = true;
    return decide_once(query, topology, options);
  });
  if (!made) ++session_->counters().memo_hits;
  // A fresh measurement replaces what `cached` plans decided without it.
  if (made && options.effort >= Effort::quick) memo_.erase(memo_key(query, Effort::cached));
  return decision;
}

Decision SpmmPlanner::decide_once(const ops::SpmmQuery& query, const Topology& topology, const PlanOptions& options) const {
  switch (options.effort) {
    case Effort::heuristic: return heuristic(query, "asked for by effort heuristic");
    case Effort::cached: {
      if (auto found = stored(query, std::nullopt)) return *std::move(found);
      return heuristic(query, "no tuned choice is stored for this problem or one near it");
    }
    case Effort::quick:
    case Effort::full: {
      if (auto found = stored(query, options.effort)) return *std::move(found);
      return tuned(query, topology, options);
    }
  }
  fail(ErrorCode::invalid_argument, "cannot plan SpMM: effort = {} is no enumerator", static_cast<int>(options.effort));
}

Decision SpmmPlanner::with_kernel(const ops::SpmmQuery& query, Decision decision) const {
  decision.request = decision.family->kernel(query, decision.config);
  decision.kernel = kernels_.get(decision.request, decision.family->launch(query, decision.config).shape.shared_bytes);
  return decision;
}

std::optional<Decision> SpmmPlanner::from_match(const ops::SpmmQuery& query, const WinnerMatch& match) const {
  const ops::SpmmFamily* family = ops::find_spmm_family(match.winner.family);
  if (family == nullptr || family->declines(query) || family->forbidden(query, match.winner.config)) {
    ++session_->counters().invalid_rows;
    return std::nullopt;
  }
  Decision decision{.family = family, .config = match.winner.config, .provenance = match.provenance, .note = describe_match(match)};
  if (match.distance == 0) {
    decision.median_us = match.winner.median_us;
    if (match.winner.default_median_us) decision.speedup_over_default = *match.winner.default_median_us / match.winner.median_us;
  }
  try {
    return with_kernel(query, std::move(decision));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::compile_failed && error.code() != ErrorCode::missing_kernel && error.code() != ErrorCode::device_failure) throw;
    session_->logger().warning_once(fmt::format("a stored choice cannot be used: {}", error.what()));
    return std::nullopt;
  }
}

std::optional<Decision> SpmmPlanner::stored(const ops::SpmmQuery& query, std::optional<Effort> at_least) const {
  for (const WinnerMatch& match : session_->tuning().find(problem_key(query), session_->device_key())) {
    const bool measured_here = match.provenance == Provenance::tuned_here && match.distance == 0;
    if (at_least && (!measured_here || match.winner.effort < *at_least)) continue;
    auto decision = from_match(query, match);
    // Code that changed since it was measured stays usable, and is raced again at the next quick or full.
    if (!decision || (at_least && decision->kernel->code_digest != match.winner.code_digest)) continue;
    ++session_->counters().tuning_hits;
    return decision;
  }
  ++session_->counters().tuning_misses;
  return std::nullopt;
}

Decision SpmmPlanner::heuristic(const ops::SpmmQuery& query, std::string note) const {
  Decision best{.note = std::move(note)};
  double best_us = std::numeric_limits<double>::infinity();
  std::string declined;
  for (const auto& family : ops::spmm_families()) {
    if (auto reason = family->declines(query)) {
      declined += fmt::format(" {}: {}.", family->name(), *reason);
      continue;
    }
    FieldMap config = family->default_config(query);
    const double predicted_us = family->predict_us(query, config);
    if (best.family != nullptr && predicted_us >= best_us) continue;
    best.family = family.get();
    best.config = std::move(config);
    best_us = predicted_us;
  }
  if (best.family == nullptr) fail(ErrorCode::unsupported, "cannot plan SpMM: no kernel family serves this problem.{}", declined);
  return with_kernel(query, std::move(best));
}

}  // namespace vostok::plan
