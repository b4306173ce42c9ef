// The choice among measured candidates: one rule and one order, for the tuner and for choosing again from stored
// trials.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tune/tuner.hpp"

namespace vostok::tune {

/// Candidates within this share of the best count as equal.
inline constexpr double equal_share = 0.02;

/// A candidate as it is stored, which decides between equals.
struct StoredCandidate {
  std::string family = {};
  FieldMap config = {};
  bool is_default = false;
};

/// Index of the candidate to choose: the smallest median. Candidates within `tie` (a share) of it, or within its
/// spread, count as equal. Of these a default wins, then the first family, then the first config by name: what is
/// stored decides, so that effort and cost models do not. `stored(index)` is a candidate. Pure: the order of results
/// and candidates does not matter.
std::optional<std::size_t> choose(const std::vector<Result>& results,
                                  const std::function<StoredCandidate(std::size_t)>& stored, double tie = equal_share);

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
