// What a benchmark is meant to reach, and whether it did.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/json.hpp"
#include "bench/harness/outcome.hpp"

namespace vostok::bench {

/// What is looked at, and how the problems are put together. Ratios are better above, everything else below.
enum class Measure {
  ratio,        ///< the other's time over ours: geometric mean
  least_ratio,  ///< the same: the smallest
  time_us,      ///< our time: the longest
  pack_calls,   ///< one packing over one call of the same problem: geometric mean
  regret        ///< the heuristic's choice over the better of it and ours: geometric mean
};
const char* name(Measure measure);

/// Which problems a target is about; limits are inclusive.
struct Subset {
  std::int64_t least_n = 0;
  std::int64_t most_n = std::numeric_limits<std::int64_t>::max();
  double least_sparsity = 0;  ///< as asked for: a matrix may miss it by half a percent
  double most_sparsity = 1;
  double least_row_variation = 0;
  double least_us = 0;     ///< only where `timed` takes that long
  std::string timed = {};  ///< empty: the target's other
};

struct Target {
  std::string of = {};  ///< the problems, in words
  Measure measure = Measure::ratio;
  std::string other = {};  ///< whose time, of ratios
  Subset where = {};
  std::optional<double> floor = {};    ///< must hold
  std::optional<double> stretch = {};  ///< what we are after
  /// Each problem too: at least 0.97 of the other's speed; where the other takes less than 4 us, within 0.3 us of it.
  bool each = false;
};

/// How far a target was reached.
struct Reached {
  std::size_t problems = 0;
  double value = 0;        ///< as the measure says
  double each = 0;         ///< share of the problems that alone are as Target::each wants it, or reach the floor
  std::string worst = {};  ///< the problem that is furthest from it
  double worst_value = 0;
  bool meets_floor = false;
  bool meets_stretch = false;
};

/// Nothing where no problem has what it takes.
std::optional<Reached> reach(const Target& target, std::span<const Outcome> outcomes);

/// [{of, measure, other, floor, stretch, each, reached: {problems, value, each, worst, worst_value}, meets_floor, meets_stretch}]; `reached`
/// and the last two are null where there was no problem, and a bound that is not asked for is null.
Json targets_json(const std::vector<Target>& targets, std::span<const Outcome> outcomes);
/// A line for each.
std::string targets_text(const std::vector<Target>& targets, std::span<const Outcome> outcomes);

}  // namespace vostok::bench
