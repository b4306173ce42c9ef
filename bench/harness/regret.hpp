// The regret of not measuring: the heuristic's choice against the tuned one.
#pragma once

#include <span>
#include <string>

#include "bench/harness/json.hpp"
#include "bench/harness/outcome.hpp"

namespace vostok::bench {

/// Largest acceptable geometric mean of the heuristic's time over the better one.
inline constexpr double most_regret = 1.15;

/// {all, FAMILY...: {problems, geomean, worst, worst_problem}}, by the family of the tuned choice; empty if nothing was
/// compared.
Json regret_json(std::span<const Outcome> outcomes);
/// The same as a table; empty if nothing was compared.
std::string regret_text(std::span<const Outcome> outcomes);

}  // namespace vostok::bench
