// Kernels that a race would try, or parts of them, compiled where there is no GPU, so that the machine that has one does not.
#pragma once

#include <vostok/topology.hpp>

#include "ops/family.hpp"
#include "plan/session.hpp"

namespace vostok::cli {

/// Of the first `count` candidates that `vostok tune --effort full` would try for this query, with the forms that they read. `topology` is empty for
/// operations without one. A candidate that does not compile is left to the race, which says so.
void compile_candidates(plan::Session& session, const ops::Query& query, const Topology& topology, int count);

/// Of the families' defaults and short lists what is no family's own: the kernels that make a topology's forms, pack values and prepare operands or
/// add up parts, which many problems share.
void compile_helpers(plan::Session& session, const ops::Query& query, const Topology& topology);

}  // namespace vostok::cli
