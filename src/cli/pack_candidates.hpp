// Kernels that a race would try, compiled where there is no GPU, so that the machine that has one measures instead of compiling.
#pragma once

#include <vostok/topology.hpp>

#include "ops/family.hpp"
#include "plan/session.hpp"

namespace vostok::cli {

/// Of the first `count` candidates that `vostok tune --effort full` would try for this query, with the forms that they read. `topology` is empty for
/// operations without one. A candidate that does not compile is left to the race, which says so.
void compile_candidates(plan::Session& session, const ops::Query& query, const Topology& topology, int count);

}  // namespace vostok::cli
