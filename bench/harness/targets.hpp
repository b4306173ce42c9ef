// What a benchmark is meant to reach, and whether it did.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/comparisons.hpp"

namespace vostok::bench {

/// Against one other, over the problems that have its time.
struct Target {
  std::string other = {};
  double least_us = 0;  ///< only where the other takes that long
  double geomean = 0;   ///< of other over ours, at least
  double share = 0;     ///< of the problems on which ours is at least as fast, at least; 0: not asked
};

/// [{other, least_us, geomean, share, reached: {problems, geomean, share}, met}]; `met` is null where there was no problem.
Json targets_json(const std::vector<Target>& targets, const Comparisons& comparisons);
/// A line for each.
std::string targets_text(const std::vector<Target>& targets, const Comparisons& comparisons);

}  // namespace vostok::bench
