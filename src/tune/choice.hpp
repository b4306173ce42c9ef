// The choice among what was measured: one rule and one order for the tuner and for whoever chooses again from stored trials.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tune/tuner.hpp"

namespace vostok::tune {

/// Candidates within this share of the best count as equal.
inline constexpr double equal_share = 0.02;

/// The fixed order that breaks ties: defaults, then by family, then by config. What is stored of a candidate says it, so that it is the same
/// whatever the effort and the cost models were.
bool comes_first(const Candidate& a, const Candidate& b);

/// Position of the candidate to choose: smallest median, where those within `tie` (a share) of it or within its spread count as equal, and the
/// one that comes first wins. Pure: the same results give the same choice, in whatever order they and the candidates are listed.
std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, const std::vector<Result>& results, double tie = equal_share);

/// The smallest median of default configs; nothing where none was measured. `is_default` and `median_us` tell what a row has.
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
