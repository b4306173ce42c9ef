// Compiles kernels that a race would try, or some of them, where there is no GPU, so that the machine with the GPU need
// not.
#pragma once

#include <vostok/topology.hpp>

#include "ops/family.hpp"
#include "plan/session.hpp"

namespace vostok::cli {

/// Compiles the first `count` candidates that `vostok tune --effort full` would try for this query, with the forms that
/// they read. `topology` is empty for operations without one. A candidate that does not compile is skipped; the race
/// reports it.
void compile_candidates(plan::Session& session, const ops::Query& query, const Topology& topology, int count);

/// Compiles the kernels of the families' defaults and short lists that belong to no family, and so serve many problems:
/// they make a topology's forms, pack values, prepare operands or add parts.
void compile_helpers(plan::Session& session, const ops::Query& query, const Topology& topology);

}  // namespace vostok::cli
