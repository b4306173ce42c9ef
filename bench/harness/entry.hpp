// A problem of any operation, planned through the public API, with operands: what a benchmark runs and compares.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "bench/harness/json.hpp"
#include "bench/harness/options.hpp"
#include "bench/peers/peer.hpp"
#include "plan/topology_state.hpp"
#include "tune/case.hpp"

namespace vostok::bench {

struct Entry {
  TopologyStatistics statistics;
  AnyPlan plan;
  double plan_ms = 0;
  std::int64_t kernels_compiled = 0;
  std::shared_ptr<tune::Case> operands = {};
  std::function<void(Stream)> execute = {};
  std::vector<PeerRun> peers = {};
  std::map<std::string, double> bounds_us = {};  ///< times that nothing can be below, by name
  Json packing = nullptr;                        ///< where values are packed once: format, bytes, us
};

/// What an entry was made of; the peers' operands point into it.
template <class Planned>
struct Planning {
  std::shared_ptr<const sparse::Csr> matrix;
  Topology topology;
  Plan<Planned> plan;
  Entry entry;

  /// The operation's arguments with the entry's operands.
  const typename Planned::Arguments& call() const { return *static_cast<const typename Planned::Arguments*>(entry.operands->arguments()); }

  PeerMatrix peer_matrix() const {
    const ops::TopologyPointers pointers = topology.state()->pointers({});
    return {.host = matrix.get(),
            .row_offsets = static_cast<const std::int32_t*>(pointers.row_offsets),
            .column_indices = static_cast<const std::int32_t*>(pointers.column_indices)};
  }
};

/// Plans the problem for the listed matrix and makes operands for it: CaseType{device, problem, matrix, seed}.
template <class CaseType, class Planned>
Planning<Planned> plan_entry(const Context& context, device::Device& device, const ListOptions& options, const Problem& listed,
                             const Planned& problem) {
  auto matrix = std::make_shared<const sparse::Csr>(load_matrix(options.data, listed, options.seed));
  const Topology topology = context.topology(matrix->view());
  const std::int64_t compiled_before = context.counters().kernels_compiled;
  const auto start = std::chrono::steady_clock::now();
  const Plan<Planned> plan =
      context.plan(problem, topology, {.effort = options.effort, .budget_seconds = options.budget_seconds, .seed = options.seed});
  const double plan_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();

  auto operands = std::make_shared<CaseType>(device, problem, *matrix, options.seed);
  const Workspace workspace = plan.make_workspace();
  operands->set_workspace(workspace);
  Entry entry{.statistics = topology.statistics(),
              .plan = plan,
              .plan_ms = plan_ms,
              .kernels_compiled = context.counters().kernels_compiled - compiled_before,
              .operands = operands,
              .execute = [plan, operands, workspace](Stream stream) { plan.execute(stream, operands->call()); }};
  return {.matrix = std::move(matrix), .topology = topology, .plan = plan, .entry = std::move(entry)};
}

/// Every way of every peer that is here.
template <class Operands>
std::vector<PeerRun> prepare_peers(const std::vector<PeerFinding>& peers, const Operands& operands) {
  std::vector<PeerRun> runs;
  for (const PeerFinding& finding : peers) {
    if (!finding.peer) continue;
    for (PeerRun& run : finding.peer->prepare(operands)) runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace vostok::bench
