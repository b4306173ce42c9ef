#include "plan/planner.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "plan/packed.hpp"
#include "plan/shared_format.hpp"
#include "plan/shipped_check.hpp"

namespace vostok::plan {

namespace {

std::string describe_match(const ops::Query& query, const WinnerMatch& match) {
  const std::string without = match.plain ? fmt::format("for the same problem without {}, ", words_beside(query)) : "";
  if (match.distance == 0) return fmt::format("{}on {}", without, match.device.name);
  return fmt::format("{}at distance {:.2f}: m {} k {} n {} nonzeros {} on {}", without, match.distance,
                     match.features.m, match.features.k, match.features.n, match.features.nonzeros, match.device.name);
}

ops::TopologyPointers pointers_of(const Topology& topology, const ops::TopologyNeeds& needs) {
  if (!topology) return {};
  return topology.state()->pointers(needs);
}

/// Whether another choice may work although this kernel failed. Without a compiler, its kernels may still be in a code
/// layer.
bool is_of_one_kernel(ErrorCode code) {
  return code == ErrorCode::compile_failed || code == ErrorCode::missing_kernel || code == ErrorCode::device_failure ||
         code == ErrorCode::no_compiler;
}

/// The first decision that use(match) makes of one of them.
template <class Use>
std::optional<Decision> first_of(const std::vector<WinnerMatch>& matches, const Use& use) {
  for (const WinnerMatch& match : matches)
    if (auto decision = use(match)) return decision;
  return std::nullopt;
}

}  // namespace

void Planner::require_usable(const Topology& topology, Stream stream, const std::string& what) const {
  session_->require_no_capture(stream, what);
  if (!topology) fail(ErrorCode::invalid_argument, "cannot {}: the topology handle is empty", what);
  if (topology.state()->session().get() != session_.get())
    fail(ErrorCode::wrong_device, "cannot {}: the topology belongs to another context", what);
}

Choice Planner::make_choice(std::shared_ptr<const ops::Query> query, std::shared_ptr<const Decision> decision,
                            const Topology& topology) const {
  const ops::Family& family = *decision->family;
  Choice choice{.query = std::move(query), .decision = std::move(decision), .launches = {}};
  const ops::Config& config = choice.decision->config;
  const ops::TopologyNeeds needs = family.needs(*choice.query, config);
  if (topology) choice.source = topology.state()->hold(needs);
  choice.launches = family.launches(*choice.query, config, pointers_of(topology, needs));
  for (std::size_t i = 0; i < choice.launches.size(); ++i)
    choice.launches[i].set_kernel(choice.decision->kernels[i]->kernel);
  choice.workspace_bytes = round_up(family.workspace_bytes(*choice.query, config), workspace_alignment_bytes);
  return choice;
}

TopologyStatistics Planner::statistics(const Topology& topology, bool transposed) const {
  return topology ? topology.state()->statistics(transposed) : TopologyStatistics{};
}

Choice Planner::choose(const Task& task, const PlanOptions& options) const {
  return make_choice(task.query, decide(task, options), task.topology);
}

std::vector<std::shared_ptr<const Decision>> Planner::decide_each(std::vector<Task>& tasks,
                                                                  const PlanOptions& options) const {
  PlanOptions share = options;
  if (!tasks.empty()) share.budget_seconds /= static_cast<double>(tasks.size());
  if (!tasks.empty() && !options.packed_format.empty() && !tasks.front().packing)
    fail(ErrorCode::invalid_argument,
         "cannot plan: PlanOptions::packed_format is for problems whose values are packed once (value_lifetime = "
         "persistent)");
  if (!tasks.empty() && tasks.front().packing && (tasks.size() > 1 || !options.packed_format.empty()))
    return decide_alike(tasks, share);
  std::vector<std::shared_ptr<const Decision>> decisions;
  decisions.reserve(tasks.size());
  for (const Task& task : tasks) decisions.push_back(decide(task, share));
  return decisions;
}

std::vector<Choice> Planner::choose_all(std::vector<Task> tasks, const PlanOptions& options) const {
  std::vector<std::shared_ptr<const Decision>> decisions = decide_each(tasks, options);
  std::vector<Choice> choices;
  choices.reserve(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    choices.push_back(make_choice(tasks[i].query, std::move(decisions[i]), tasks[i].topology));
  return choices;
}

std::vector<std::shared_ptr<const Decision>> Planner::decide_alike(std::vector<Task>& tasks,
                                                                   const PlanOptions& options) const {
  std::vector<std::shared_ptr<const Decision>> decisions;
  decisions.reserve(tasks.size());
  for (const Task& task : tasks) decisions.push_back(decide(task, options));
  const std::string shared = shared_format(tasks, decisions, options.packed_format, session_->max_workspace_bytes());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    Task& task = tasks[i];
    if (decisions[i]->family->packed_format(*task.query, decisions[i]->config) == shared) continue;
    task.query = restricted(task, shared);
    decisions[i] = decide(task, options);
  }
  return decisions;
}

std::optional<Choice> Planner::rebind(const Choice& old, std::shared_ptr<const ops::Query> query,
                                      const Topology& topology) const {
  const ops::Family& family = *old.decision->family;
  const ops::Config& config = old.decision->config;
  // The kernels' template arguments must not have changed with the mask (the longest row can change them).
  if (declined(family, *query) || forbidden(family, *query, config, session_->max_workspace_bytes()))
    return std::nullopt;
  const std::vector<ops::Launch> launches = family.launches(*query, config, {});
  if (launches.size() != old.decision->expressions.size()) return std::nullopt;
  for (std::size_t i = 0; i < launches.size(); ++i)
    if (launches[i].request().expression != old.decision->expressions[i]) return std::nullopt;
  return make_choice(std::move(query), old.decision, topology);
}

std::shared_ptr<const Decision> Planner::decide(const Task& task, const PlanOptions& options) const {
  bool made = false;
  auto decision = memo_.get(memo_key(*task.query, options.effort), [&] {
    made = true;
    return decide_once(task, options);
  });
  if (!made) ++session_->counters().memo_hits;
  // A fresh measurement replaces what `cached` plans had decided or expected without it.
  if (made && options.effort >= Effort::quick) {
    const std::string cached = memo_key(*task.query, Effort::cached);
    memo_.erase(cached);
    expected_.erase(cached);
  }
  return decision;
}

Decision Planner::decide_once(const Task& task, const PlanOptions& options) const {
  const ops::Query& query = *task.query;
  if (session_->cache_only()) return tuned_only(task);
  switch (options.effort) {
    case Effort::heuristic: return heuristic(task, "asked for by effort heuristic");
    case Effort::cached: {
      auto found = stored(task, std::nullopt);
      const bool of_another_model = found && found->provenance == Provenance::nearest_device;
      if (of_another_model && session_->options().check_shipped)
        return checked(*session_, task, *std::move(found), heuristic(task, {}));
      if (found) return *std::move(found);
      return heuristic(task, "no tuned choice is stored for this problem or one near it");
    }
    case Effort::quick:
    case Effort::full: {
      auto found = stored(task, options.effort);
      if (found && has_trials(query, options.effort)) return *std::move(found);
      return tuned(task, options);
    }
  }
  fail(ErrorCode::invalid_argument, "cannot plan: effort = {} is no enumerator", static_cast<int>(options.effort));
}

/// Jobs for everything that a plan of this decision needs besides the first launch's kernel: the other kernels,
/// packing, and the topology's forms.
std::vector<Beside::Job> Planner::other_kernels(const Task& task, const Decision& decision,
                                                const std::vector<ops::Launch>& launches) const {
  std::vector<Beside::Job> jobs;
  for (std::size_t i = 1; i < launches.size(); ++i)
    jobs.emplace_back(
        [this, &launch = launches[i]] { session_->kernels().get(launch.request(), launch.shared_bytes()); });
  // If the topology has released what this config would read, a choice of another format may replace it.
  const ops::TopologyNeeds needs = decision.family->needs(*task.query, decision.config);
  if (task.topology && task.topology.state()->serves(needs))
    jobs.emplace_back([&task, needs] { pointers_of(task.topology, needs); });
  const std::string format = decision.family->packed_format(*task.query, decision.config);
  if (task.packing && !format.empty()) {
    jobs.emplace_back([this, kernel = task.packing->kernel(format)] {
      session_->kernels().get(kernel.request, kernel.shared_bytes);
    });
  }
  return jobs;
}

Decision Planner::with_kernels(const Task& task, Decision decision) const {
  const std::vector<ops::Launch> launches = decision.family->launches(*task.query, decision.config, {});
  for (const ops::Launch& launch : launches) decision.expressions.push_back(launch.request().expression);
  {
    Beside others;  // must end before `decision` is moved from: its jobs read it
    const auto compiling = [&] {
      if (!others.started()) others.start(other_kernels(task, decision, launches), session_->compile_threads() - 1);
    };
    decision.kernels = ready_kernels(session_->kernels(), launches, compiling);
  }
  return decision;
}

/// The decision of a stored row; nothing if today's family does not read it, or its rules forbid it.
std::optional<Decision> Planner::from_match(const ops::Query& query, const WinnerMatch& match) const {
  const ops::Family* family = ops::find_family(query.operation, match.winner.family);
  if (family == nullptr || declined(*family, query)) return std::nullopt;
  const auto config = family->read(match.winner.config);
  if (!config || forbidden(*family, query, *config, session_->max_workspace_bytes())) return std::nullopt;
  Decision decision{
      .family = family, .config = *config, .provenance = match.provenance, .note = describe_match(query, match)};
  if (match.distance == 0 && !match.plain) {
    decision.median_us = match.winner.median_us;
    if (match.winner.default_median_us)
      decision.speedup_over_default = *match.winner.default_median_us / match.winner.median_us;
  }
  return decision;
}

/// Drops neighbours that the cost models find too slow. A neighbour's row does not tell whether its mask had runs of
/// columns as this one does, and a choice for the one kind can be several times as slow on the other. Nor does it tell
/// whether a config sized for another density and n holds this problem: 1.7 times the time was measured if it does not.
/// Nine choices that the models found 1.2 to 1.35 times as slow as their own were measured, and took 1.12 times as long
/// in the mean. For a near neighbour the measurement counts for more. The models are asked once for all neighbours,
/// since that takes longer than the look-up.
std::vector<WinnerMatch> Planner::without_misplaced(const ops::Query& query, std::vector<WinnerMatch> matches) const {
  constexpr double near = 0.1;  // a seventh more or fewer nonzeros
  const auto allowed = [](const WinnerMatch& match) { return match.distance <= near ? 1.5 : 1.2; };
  if (std::none_of(matches.begin(), matches.end(), [](const WinnerMatch& match) { return match.distance > 0; }))
    return matches;
  std::string reasons;
  const auto best = plan::cheapest(query, session_->max_workspace_bytes(), reasons);
  if (!best) return matches;
  std::erase_if(matches, [&](const WinnerMatch& match) {
    if (match.distance <= 0) return false;
    const auto decision = from_match(query, match);
    return decision && decision->family->predict_us(query, decision->config) > allowed(match) * best->us;
  });
  return matches;
}

/// The decision of a stored row that a plan would take; a row that the rules forbid is counted.
std::optional<Decision> Planner::asked_for(const ops::Query& query, const WinnerMatch& match) const {
  auto decision = from_match(query, match);
  if (!decision) ++session_->counters().invalid_rows;
  return decision;
}

/// Adds the kernels; nothing, and a warning, if they cannot be had.
std::optional<Decision> Planner::loaded(const Task& task, Decision decision) const {
  try {
    return with_kernels(task, std::move(decision));
  } catch (const Error& error) {
    if (!is_of_one_kernel(error.code())) throw;
    session_->logger().warning_once(fmt::format("a stored choice cannot be used: {}", error.what()));
    return std::nullopt;
  }
}

/// The decision of a match with its kernels, if a plan can use it.
std::optional<Decision> Planner::usable(const Task& task, const WinnerMatch& match,
                                        std::optional<Effort> at_least) const {
  const bool measured_here = match.provenance == Provenance::tuned_here && match.distance == 0 && !match.plain;
  if (at_least && (!measured_here || match.winner.effort < *at_least)) return std::nullopt;
  auto decision = asked_for(*task.query, match);
  if (decision) decision = loaded(task, *std::move(decision));
  // Code that changed since it was measured remains usable; the next quick or full effort races it again.
  if (decision && at_least && decision->code_digest() != match.winner.code_digest) return std::nullopt;
  return decision;
}

std::vector<WinnerMatch> Planner::same(const ops::Query& query) const {
  return session_->tuning().find_same(problem_key(query), session_->device_key());
}

std::vector<WinnerMatch> Planner::same_and_near(const ops::Query& query) const {
  return session_->tuning().find(problem_key(query), session_->device_key());
}

/// Choices for near problems. To be read only if needed: in a new process that takes longer than everything else a
/// decided plan does.
std::vector<WinnerMatch> Planner::neighbours(const ops::Query& query) const {
  std::vector<WinnerMatch> matches = same_and_near(query);
  std::erase_if(matches, [](const WinnerMatch& match) { return is_tuned(match.provenance); });
  return without_misplaced(query, std::move(matches));
}

/// The first decision that use(match) makes of a stored row: one of this very problem, else, where `near`, a
/// neighbour's.
template <class Use>
std::optional<Decision> Planner::first_stored(const ops::Query& query, bool near, const Use& use) const {
  auto decision = first_of(same(query), use);
  return decision || !near ? decision : first_of(neighbours(query), use);
}

std::optional<Decision> Planner::stored(const Task& task, std::optional<Effort> at_least) const {
  auto decision =
      first_stored(*task.query, !at_least, [&](const WinnerMatch& match) { return usable(task, match, at_least); });
  ++(decision ? session_->counters().tuning_hits : session_->counters().tuning_misses);
  return decision;
}

std::vector<Decision> Planner::admitted(const ops::Query& query) const {
  std::vector<Decision> decisions;
  for (const WinnerMatch& match : session_->cache_only() ? same(query) : without_misplaced(query, same_and_near(query)))
    if (auto decision = asked_for(query, match)) decisions.push_back(*std::move(decision));
  return decisions;
}

Decision Planner::tuned_only(const Task& task) const {
  const ops::Query& query = *task.query;
  std::vector<Decision> decisions = admitted(query);
  if (decisions.empty()) {
    ++session_->counters().tuning_misses;
    fail(ErrorCode::missing_choice,
         "cannot plan {}: no choice is stored that was tuned for it, and Options::cache_only", query_words(query));
  }
  ++session_->counters().tuning_hits;
  return with_kernels(task, std::move(decisions.front()));
}

/// What an effort races: its candidates, and what plans would use without a measurement: the stored choices for this
/// very problem or its plain one, else a neighbour's.
std::vector<tune::Candidate> Planner::contenders(const ops::Query& query, Effort effort) const {
  std::vector<tune::Candidate> candidates = candidates_of(query, effort, session_->max_workspace_bytes());
  std::map<ops::Config, std::string> in_use;  // and the families' names
  for (const WinnerMatch& match : same(query))
    if (const auto decision = from_match(query, match)) in_use.emplace(decision->config, match.winner.family);
  if (in_use.empty())
    if (const auto neighbour =
            first_of(neighbours(query), [&](const WinnerMatch& match) { return from_match(query, match); }))
      in_use.emplace(neighbour->config, neighbour->family->name());
  for (tune::Candidate& candidate : candidates) candidate.in_use = in_use.erase(candidate.config) > 0;
  for (const auto& [config, family] : in_use)
    candidates.push_back({.family = family, .config = config, .in_use = true});
  return candidates;
}

/// Whether every candidate of the effort has been tried before, so that nothing new remains to measure.
bool Planner::has_trials(const ops::Query& query, Effort effort) const {
  std::set<ops::Config> tried;
  for (const TrialRecord& trial : session_->tuning().trials(problem_key(query), session_->device_key())) {
    if (trial.status == "untested") continue;
    const ops::Family* const family = ops::find_family(query.operation, trial.family);
    if (const auto config = family != nullptr ? family->read(trial.config) : std::nullopt) tried.insert(*config);
  }
  const auto candidates = contenders(query, effort);
  return std::all_of(candidates.begin(), candidates.end(),
                     [&](const tune::Candidate& candidate) { return tried.contains(candidate.config); });
}

Decision Planner::heuristic(const Task& task, std::string note) const {
  return with_kernels(task, predicted(*task.query, std::move(note)));
}

Decision Planner::predicted(const ops::Query& query, std::string note) const {
  std::string reasons;
  Decision best = cheapest(query, reasons);
  if (best.family == nullptr)
    fail(ErrorCode::unsupported, "cannot plan {}: {} this problem.{}", query.operation,
         query.only_family.empty() ? "no kernel family serves" : "the kernel family that was asked for does not serve",
         reasons);
  best.note = std::move(note);
  return best;
}

Expected Planner::expected(const ops::Query& query, Effort effort) const {
  const Effort asked = effort == Effort::heuristic ? effort : Effort::cached;  // others find the same rows
  return *expected_.get(memo_key(query, asked), [&] { return expected_once(query, asked); });
}

Expected Planner::expected_once(const ops::Query& query, Effort effort) const {
  constexpr Expected never = {.predicted_us = std::numeric_limits<double>::infinity()};
  const bool cache_only = session_->cache_only();
  if (effort != Effort::heuristic || cache_only) {
    // The plan counts rows that the rules forbid.
    const auto found =
        first_stored(query, !cache_only, [&](const WinnerMatch& match) { return from_match(query, match); });
    if (found) return plan::expected(query, *found);
    if (cache_only) return never;
  }
  std::string reasons;
  const auto choice = plan::cheapest(query, session_->max_workspace_bytes(), reasons);
  return choice ? Expected{.predicted_us = choice->us} : never;
}

/// Without kernels. If no family serves the query, the family is null and `reasons` says why.
Decision Planner::cheapest(const ops::Query& query, std::string& reasons) const {
  auto choice = plan::cheapest(query, session_->max_workspace_bytes(), reasons);
  if (!choice) return {};
  return {.family = choice->family, .config = choice->config};
}

}  // namespace vostok::plan
