// The targets of a benchmark, and whether it reached them.
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

/// The measured quantity, and how problems are aggregated. For ratios larger is better, for everything else smaller.
enum class Measure {
  ratio,        ///< the other's time over ours: geometric mean
  least_ratio,  ///< the other's time over ours: the smallest
  time_us,      ///< our time: the longest
  pack_calls,   ///< one packing over one call of the same problem: geometric mean
  regret        ///< the heuristic's time over the better of it and ours: geometric mean
};
const char* name(Measure measure);

/// The problems that a target covers; limits are inclusive.
struct Subset {
  std::int64_t least_n = 0;
  std::int64_t most_n = std::numeric_limits<std::int64_t>::max();
  double least_sparsity = 0;  ///< as asked for: a matrix may miss it by half a percent
  double most_sparsity = 1;
  double least_row_variation = 0;
  double least_us = 0;     ///< only if `timed` takes at least that long
  std::string timed = {};  ///< empty: the target's other
};

struct Target {
  std::string of = {};  ///< the problems, in words
  Measure measure = Measure::ratio;
  std::string other = {};  ///< whose time is compared, for ratios
  Subset where = {};
  std::optional<double> floor = {};    ///< must hold
  std::optional<double> stretch = {};  ///< what we aim for
  /// Each problem must reach 0.97 of the other's speed or, if the other takes less than 4 us, come within 0.3 us of it.
  bool each = false;
};

/// The degree to which a target was reached.
struct Reached {
  std::size_t problems = 0;
  double value = 0;        ///< in the unit of the measure
  double each = 0;         ///< share of the problems that alone meet Target::each, or reach the floor
  std::string worst = {};  ///< the problem furthest from the target
  double worst_value = 0;
  bool meets_floor = false;
  bool meets_stretch = false;
};

/// Nothing if no problem has the needed times.
std::optional<Reached> reach(const Target& target, std::span<const Outcome> outcomes);

/// [{of, measure, other, floor, stretch, each, reached: {problems, value, each, worst, worst_value}, meets_floor,
/// meets_stretch}]; `reached` and the last two are null if there was no problem, and an absent bound is null.
Json targets_json(const std::vector<Target>& targets, std::span<const Outcome> outcomes);
/// One line for each target.
std::string targets_text(const std::vector<Target>& targets, std::span<const Outcome> outcomes);

}  // namespace vostok::bench
