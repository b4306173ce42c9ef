// Two implementations over many problems: ratios, shares and the worst cases.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace vostok::bench {

/// One problem, timed for both. An unknown spread is 0.
struct TimePair {
  std::string label = {};
  double ours_us = 0;
  double ours_spread_us = 0;
  double other_us = 0;
  double other_spread_us = 0;

  double ratio() const { return other_us / ours_us; }  ///< above 1: ours is faster
};

/// Below this time of the other, launch costs dominate over the kernel.
inline constexpr double short_us = 4.0;
/// The extra time that ours may take then.
inline constexpr double short_allowance_us = 0.3;

struct Comparison {
  std::size_t problems = 0;
  double geomean = 1;           ///< of the ratios; 1 if there are no problems
  double at_least_as_fast = 0;  ///< share of problems, 0 to 1
  double with_allowance =
      0;                    ///< share of problems, with short_allowance_us added if the other takes less than short_us
  double within_noise = 0;  ///< share of problems in which ours is slower by no more than both spreads together
  std::vector<TimePair> worst = {};  ///< smallest ratio first, at most ten
};

Comparison compare(std::vector<TimePair> pairs);

/// exp(mean(log(values))); 1 for none. Every value must be positive.
double geometric_mean(std::span<const double> values);

}  // namespace vostok::bench
