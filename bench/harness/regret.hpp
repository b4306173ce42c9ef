// How much is lost where nothing is measured: the heuristic's choice beside the tuned one.
#pragma once

#include <span>
#include <string>

#include "bench/harness/json.hpp"
#include "bench/harness/outcome.hpp"

namespace vostok::bench {

/// What the heuristic may take of the better time, in the geometric mean.
inline constexpr double most_regret = 1.15;

/// {all, FAMILY...: {problems, geomean, worst, worst_problem}}, by the family of the tuned choice; empty where nothing was compared.
Json regret_json(std::span<const Outcome> outcomes);
/// A table of the same; empty where nothing was compared.
std::string regret_text(std::span<const Outcome> outcomes);

}  // namespace vostok::bench
