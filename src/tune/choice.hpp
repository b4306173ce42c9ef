// The choice among measured candidates: one rule and one order, for the tuner and for choosing again from stored
// trials.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tune/tuner.hpp"

namespace vostok::tune {

/// Candidates within this share of the best count as equal.
inline constexpr double equal_share = 0.02;

/// The fixed order that breaks ties: defaults first, then by family, then by config. It depends only on what is stored
/// of a candidate, so that effort and cost models do not change it.
bool comes_first(const Candidate& a, const Candidate& b);

/// Index of the candidate to choose: the smallest median. Candidates within `tie` (a share) of it, or within its
/// spread, count as equal, and the first by comes_first wins. Pure: the order of results and candidates does not
/// matter.
std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, const std::vector<Result>& results,
                                  double tie = equal_share);

/// The smallest median of the default configs; nothing if none was measured. `is_default` and `median_us` read a row.
template <class Rows, class IsDefault, class Median>
std::optional<double> fastest_default(const Rows& rows, const IsDefault& is_default, const Median& median_us) {
  std::optional<double> fastest;
  for (const auto& row : rows) {
    const std::optional<double> us = std::invoke(median_us, row);
    if (us && std::invoke(is_default, row) && (!fastest || *us < *fastest)) fastest = us;
  }
  return fastest;
}

}  // namespace vostok::tune
