// A problem of any operation, planned through the public API, with operands: what a benchmark runs and compares.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "bench/harness/json.hpp"
#include "bench/harness/matrices.hpp"
#include "bench/harness/options.hpp"
#include "bench/peers/peer.hpp"
#include "tune/case.hpp"

namespace vostok::bench {

/// The name of the run with the heuristic's choice, which is shown beside ours but is not a rival.
inline constexpr const char* heuristic_choice = "heuristic";

struct Entry {
  TopologyStatistics statistics;
  AnyPlan plan;
  double plan_ms = 0;
  std::int64_t kernels_compiled = 0;
  std::shared_ptr<tune::Case> operands = {};
  std::function<void(Stream)> execute = {};
  int period = 1;  ///< calls until `execute` reads the same memory again
  std::vector<PeerRun> peers = {};
  std::optional<AnyPlan> heuristic = {};         ///< the heuristic's choice, if requested
  std::map<std::string, double> bounds_us = {};  ///< lower bounds on the time, by name
  Json packing = nullptr;                        ///< if values are packed once: format, bytes, us
  Json weights = nullptr;  ///< bytes of the sparse matrix as kernels read it, and the number of rotating copies

  /// Whether measuring led to the same choice as the heuristic.
  bool heuristic_is_ours() const {
    return heuristic && heuristic->family() == plan.family() && heuristic->config() == plan.config();
  }
};

/// The owners of an entry's parts; the peers' operands point into them.
template <class Planned>
struct Planning {
  Plan<Planned> plan;
  Plan<Planned> heuristic;  ///< empty: not requested
  Entry entry;

  /// The operation's arguments, with the entry's operands.
  const typename Planned::Arguments& call() const {
    return *static_cast<const typename Planned::Arguments*>(entry.operands->arguments());
  }

  /// A function that runs a plan on those operands with its own workspace.
  std::function<void(Stream)> runner(const Plan<Planned>& planned) const {
    return [planned, operands = entry.operands, workspace = planned.make_workspace()](Stream stream) {
      typename Planned::Arguments call = *static_cast<const typename Planned::Arguments*>(operands->arguments());
      call.workspace = workspace;
      planned.execute(stream, call);
    };
  }

  /// Adds the heuristic's choice to the runs, if it differs from ours.
  void add_heuristic(const std::function<std::vector<std::function<void(Stream)>>()>& prepare) {
    if (heuristic && !entry.heuristic_is_ours())
      entry.peers.push_back(prepare_turns(heuristic_choice, heuristic.family(), prepare));
  }
};

/// Plans the problem for the matrix taken last and makes operands for it: CaseType{device, problem,
/// matrix, seed}. Adds no runs yet.
template <class CaseType, class Planned>
Planning<Planned> plan_problem(const Context& context, device::Device& device, const ListOptions& options,
                               Matrices& matrices, const Planned& problem) {
  const Topology topology = matrices.topology();
  const std::int64_t compiled_before = context.counters().kernels_compiled;
  const auto start = std::chrono::steady_clock::now();
  PlanOptions how{.effort = options.effort,
                  .budget_seconds = options.budget_seconds,
                  .seed = options.seed,
                  .policy = options.policy,
                  .overlap_calls = !options.apart};
  const Plan<Planned> plan = context.plan(problem, topology, how);
  const double plan_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const std::int64_t kernels_compiled = context.counters().kernels_compiled - compiled_before;
  Plan<Planned> heuristic;
  how.effort = Effort::heuristic;
  if (options.effort != Effort::heuristic) heuristic = context.plan(problem, topology, how);
  Entry entry{.statistics = topology.statistics(),
              .plan = plan,
              .plan_ms = plan_ms,
              .kernels_compiled = kernels_compiled,
              .operands = std::make_shared<CaseType>(device, problem, *matrices.host(), options.seed)};
  if (heuristic) entry.heuristic = heuristic;
  return {.plan = plan, .heuristic = heuristic, .entry = std::move(entry)};
}

/// As above, with the runs added.
template <class CaseType, class Planned>
Planning<Planned> plan_entry(const Context& context, device::Device& device, const ListOptions& options,
                             Matrices& matrices, const Planned& problem) {
  Planning<Planned> planning = plan_problem<CaseType>(context, device, options, matrices, problem);
  planning.entry.execute = planning.runner(planning.plan);
  planning.add_heuristic([&] { return std::vector{planning.runner(planning.heuristic)}; });
  return planning;
}

/// Every way of every available peer.
template <class Operands>
void add_peers(Entry& entry, const std::vector<PeerFinding>& peers, const Operands& operands) {
  for (const PeerFinding& finding : peers) {
    if (!finding.peer) continue;
    for (PeerRun& run : finding.peer->prepare(operands)) entry.peers.push_back(std::move(run));
  }
}

}  // namespace vostok::bench
