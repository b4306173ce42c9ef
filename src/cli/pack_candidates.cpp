#include "cli/pack_candidates.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/candidates.hpp"
#include "plan/kernels.hpp"
#include "plan/topology_state.hpp"

namespace vostok::cli {

namespace {

/// The first candidates in the order of a race. Searches the whole space if the short list is not enough.
std::vector<tune::Candidate> first_candidates(const ops::Query& query, std::int64_t max_workspace_bytes,
                                              std::size_t count) {
  std::vector<tune::Candidate> candidates = plan::candidates_of(query, Effort::quick, max_workspace_bytes);
  if (candidates.size() < count) candidates = plan::candidates_of(query, Effort::full, max_workspace_bytes);
  std::vector<std::size_t> order = tune::race_order(candidates);
  order.resize(std::min(order.size(), count));
  std::vector<tune::Candidate> first;
  first.reserve(order.size());
  for (const std::size_t i : order) first.push_back(std::move(candidates[i]));
  return first;
}

enum class Kernels { all, helpers };

void compile_candidate(plan::Session& session, const ops::Query& query, const Topology& topology,
                       const tune::Candidate& candidate, Kernels which) {
  const ops::Family& family = *ops::find_family(query.operation, candidate.family);
  for (const ops::Launch& launch : family.launches(query, candidate.config, {}))
    if (which == Kernels::all || launch.request().family != family.name())
      session.kernels().get(launch.request(), launch.shared_bytes());
  if (topology) topology.state()->pointers(family.needs(query, candidate.config));
}

/// Compiles each candidate. One that does not compile is skipped: whoever needs it gets the error.
void compile_each(plan::Session& session, const ops::Query& query, const Topology& topology,
                  const std::vector<tune::Candidate>& candidates, Kernels which) {
  for (const tune::Candidate& candidate : candidates) {
    try {
      compile_candidate(session, query, topology, candidate, which);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::compile_failed) throw;
    }
  }
}

}  // namespace

void compile_candidates(plan::Session& session, const ops::Query& query, const Topology& topology, int count) {
  if (count <= 0) return;
  const auto candidates = first_candidates(query, session.max_workspace_bytes(), static_cast<std::size_t>(count));
  compile_each(session, query, topology, candidates, Kernels::all);
}

void compile_helpers(plan::Session& session, const ops::Query& query, const Topology& topology) {
  compile_each(session, query, topology, plan::candidates_of(query, Effort::quick, session.max_workspace_bytes()),
               Kernels::helpers);
}

}  // namespace vostok::cli
