#include "bench/harness/operation_bench.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/regret.hpp"
#include "context_state.hpp"
#include "ops/product_bound.hpp"
#include "plan/plan_state.hpp"

namespace vostok::bench {

namespace {

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

/// Each matrix once, without N.
std::vector<Problem> without_sizes(std::vector<Problem> problems) {
  std::set<std::string> seen;
  std::erase_if(problems, [&](const Problem& problem) { return !seen.insert(problem.file).second; });
  for (Problem& problem : problems) problem.n = 0;
  return problems;
}

Json bounds_json(const Entry& entry) {
  Json json = Json::object();
  for (const auto& [name, us] : entry.bounds_us) json[name] = number(us);
  return json;
}

}  // namespace

OperationBench::OperationBench(OperationFacts facts, const ComparisonOptions& options)
    : facts_(std::move(facts)),
      options_(options),
      baselines_(options.baselines.empty() ? Baselines() : Baselines::read(options.baselines, facts_.baseline_columns)),
      problems_(list_problems()),
      context_(open_context(options)),
      current_(options.device, context_.device().gpu),
      device_(context_.state()->session->device()),
      record_(facts_.name, options, context_),
      matrices_(context_, options.data, options.seed) {
  Json problem = {{"element", name(options.element)}, {"overlap_calls", !options.apart}};
  problem.update(facts_.problem);
  record_.set("problem", std::move(problem));
  print_device(context_.device());
  if (!options.no_peers) peers_ = find_peers(device_);
  std::erase_if(peers_, [&](const PeerFinding& finding) {
    return !options.peers.empty() &&
           std::find(options.peers.begin(), options.peers.end(), finding.name) == options.peers.end();
  });
  note_peers();
}

std::vector<Problem> OperationBench::list_problems() const {
  if (!facts_.made.empty()) return select(facts_.made, options_.selection, "the made ones");
  std::vector<Problem> problems = options_.synthetic
                                      ? select(baselines_.generated(), options_.selection, options_.baselines.string())
                                      : read_problems(options_);
  return facts_.has_size ? problems : without_sizes(std::move(problems));
}

void OperationBench::note_peers() {
  Json list = Json::array();
  for (const PeerFinding& finding : peers_) {
    list.push_back(finding.peer ? Json{{"name", finding.name}, {"version", finding.peer->version()}}
                                : Json{{"name", finding.name}, {"absent", finding.absent}});
    print(fmt::format("{} {}\n", finding.name, finding.peer ? finding.peer->version() : "absent: " + finding.absent));
  }
  record_.set("peers", std::move(list));
}

std::size_t OperationBench::run(const MakeEntry& make_entry) {
  Progress progress(problems_.size(), options_.deadline_seconds);
  std::size_t done = 0;
  for (const Problem& problem : problems_) {
    if (progress.out_of_time()) break;
    progress.start(label(problem));
    run_guarded(problem, make_entry);
    record_.set("summary", comparisons_.to_json());
    record_.set("targets", targets_json(facts_.targets, outcomes_));
    record_.set("regret", regret_json(outcomes_));
    record_.set("drift", drift_json());
    record_.set("slow", slow_.to_json());
    record_.write(++done == problems_.size());
  }
  summarise(problems_.size() - done);
  return failures_ + problems_.size() - done;
}

void OperationBench::run_guarded(const Problem& problem, const MakeEntry& make_entry) {
  try {
    run_one(problem, make_entry);
  } catch (const std::exception& error) {
    ++failures_;
    record_.add_row({{"file", problem.file}, {"n", problem.n}, {"failure", error.what()}});
    print(fmt::format("{}: {}\n", label(problem), error.what()));
  }
}

void OperationBench::run_one(const Problem& problem, const MakeEntry& make_entry) {
  matrices_.take(problem);
  const Entry entry = make_entry(problem, matrices_);
  if (entry.plan.state()->choices.empty()) {
    record_.add_nothing_to_compute(problem);
    return;
  }
  std::vector<PeerRun> runs = {{.variant = entry.plan.family(), .enqueue = entry.execute, .period = entry.period}};
  runs.insert(runs.end(), entry.peers.begin(), entry.peers.end());
  const std::vector<Measured> measured = hold_contest(device_, *entry.operands, runs, options_.rounds);
  const Baseline baseline = baselines_.find(problem, entry.statistics.rows, entry.statistics.cols);
  const std::vector<Rival> rivals = find_rivals(measured, baseline);
  const Measured& ours = measured.front();
  if (ours.timed.timing && ours.counts()) compare(problem, entry, *ours.timed.timing, rivals, baseline);
  else ++failures_;
  add_row(problem, entry, measured, baseline);
  print_row(problem, entry, measured.front(), rivals);
}

void OperationBench::compare(const Problem& problem, const Entry& entry, const Timing& timing,
                             const std::vector<Rival>& rivals, const Baseline& baseline) {
  note_outcome(problem, entry, timing, rivals);
  if (const auto bound = ops::product_bound(*entry.plan.state()->main_choice()->query))
    slow_.note(label(problem), timing.median_us, *bound);
  for (const Rival& rival : rivals) {
    if (rival.name == heuristic_choice) continue;  // our own choice, not a rival
    comparisons_.add(rival.name, group(problem),
                     {.label = label(problem),
                      .ours_us = timing.median_us,
                      .ours_spread_us = timing.spread_us,
                      .other_us = rival.us,
                      .other_spread_us = rival.spread_us});
    const auto elsewhere = baseline.find(rival.name);
    if (elsewhere != baseline.end()) drift_[rival.name].push_back(rival.us / elsewhere->second);
  }
}

void OperationBench::note_outcome(const Problem& problem, const Entry& entry, const Timing& timing,
                                  const std::vector<Rival>& rivals) {
  Outcome outcome{.label = label(problem),
                  .n = problem.n,
                  .sparsity = entry.statistics.sparsity(),
                  .row_variation = entry.statistics.row_variation,
                  .family = entry.plan.family(),
                  .ours_us = timing.median_us,
                  .rivals = rivals};
  if (entry.packing.is_object() && entry.packing["us"] > 0) outcome.packing_us = entry.packing["us"].get<double>();
  outcome.heuristic_us = entry.heuristic_is_ours() ? outcome.ours_us : outcome.rival_us(heuristic_choice);
  outcomes_.push_back(std::move(outcome));
}

Json OperationBench::ours_json(const Entry& entry, const Measured& ours) {
  const Explanation explanation = entry.plan.explain(Detail::choice);
  Json json = measured_json(ours);
  json["family"] = explanation.family;
  json["config"] = explanation.config;
  json["provenance"] = name(explanation.provenance);
  json["note"] = explanation.note;
  json["speedup_over_default"] = number(explanation.speedup_over_default);
  json["bound_us"] = number(explanation.bound_us);
  json["gflops"] = ours.timed.timing && ours.counts()
                       ? number(entry.operands->flops() / ours.timed.timing->median_us / 1000)
                       : Json(nullptr);
  json["plan_ms"] = number(entry.plan_ms);
  json["kernels_compiled"] = entry.kernels_compiled;
  if (!entry.packing.is_null()) {
    json["packing"] = entry.packing;
    if (ours.timed.timing)
      json["with_packing_us"] = number(ours.timed.timing->median_us + entry.packing["us"].get<double>());
  }
  if (!entry.weights.is_null()) json["weights"] = entry.weights;
  if (entry.heuristic)
    json["heuristic"] = {{"family", entry.heuristic->family()},
                         {"config", entry.heuristic->config()},
                         {"is_ours", entry.heuristic_is_ours()}};
  for (const plan::Choice& choice : entry.plan.state()->choices)
    for (const ops::Launch& launch : choice.launches) record_.note_template(launch.request().header);
  return json;
}

void OperationBench::add_row(const Problem& problem, const Entry& entry, const std::vector<Measured>& measured,
                             const Baseline& baseline) {
  const TopologyStatistics& statistics = entry.statistics;
  Json peers = Json::array();
  for (std::size_t i = 1; i < measured.size(); ++i) {
    Json peer = {{"name", measured[i].peer}, {"variant", measured[i].variant}};
    peer.update(measured_json(measured[i]));
    peers.push_back(std::move(peer));
  }
  record_.add_row({{"file", problem.file},
                   {"n", problem.n},
                   {"m", statistics.rows},
                   {"k", statistics.cols},
                   {"nonzeros", statistics.nonzeros},
                   {"sparsity", number(statistics.sparsity())},
                   {"row_variation", number(statistics.row_variation)},
                   {"longest_row", statistics.longest_row},
                   {"clocks", clocks_json(device_.clocks())},
                   {"ours", ours_json(entry, measured.front())},
                   {"peers", std::move(peers)},
                   {"baseline", baseline},
                   {"bounds_us", bounds_json(entry)}});
}

void OperationBench::print_row(const Problem& problem, const Entry& entry, const Measured& ours,
                               const std::vector<Rival>& rivals) const {
  const TopologyStatistics& statistics = entry.statistics;
  std::string line = fmt::format("{:>6} {:>11} {:>5.1f}% ", problem.n,
                                 fmt::format("{}x{}", statistics.rows, statistics.cols), 100 * statistics.sparsity());
  if (!ours.timed.timing) {
    print(fmt::format("{}not timed: {}  {}\n", line, ours.timed.failure, problem.file));
    return;
  }
  const double ours_us = ours.timed.timing->median_us;
  line +=
      fmt::format("ours {:.2f} +- {:.2f} us, error {:.1e}", ours_us, ours.timed.timing->spread_us, ours.check.error);
  for (const Rival& rival : rivals)
    line += fmt::format(" | {} {:.2f} ({:.2f}x)", rival.name, rival.us, rival.us / ours_us);
  for (const auto& [bound, us] : entry.bounds_us)
    line += fmt::format(" | {} {:.2f} ({:.2f} of it)", bound, us, us / ours_us);
  print(
      fmt::format("{} | {}{}\n", line, problem.file, ours.check.wrong.empty() ? "" : " | WRONG: " + ours.check.wrong));
  std::fflush(stdout);
}

/// Ratio of this machine's peer times to the baselines': near 1, the baselines are comparable with what is measured
/// here.
Json OperationBench::drift_json() const {
  Json json = Json::object();
  for (const auto& [peer, ratios] : drift_)
    json[peer] = {{"problems", ratios.size()}, {"here_over_baseline", number(geometric_mean(ratios))}};
  return json;
}

void OperationBench::summarise(std::size_t not_reached) const {
  print(comparisons_.table());
  for (const auto& [peer, ratios] : drift_)
    print(fmt::format("\n{} takes {:.3f}x of its baseline here (geomean of {} problems)\n", peer,
                      geometric_mean(ratios), ratios.size()));
  print(regret_text(outcomes_));
  print(targets_text(facts_.targets, outcomes_));
  print(slow_.text(outcomes_.size()));
  if (not_reached > 0) print(fmt::format("\n{} problems were not reached before the deadline\n", not_reached));
  if (failures_ > 0) print(fmt::format("\n{} problems failed or were wrong\n", failures_));
}

}  // namespace vostok::bench
