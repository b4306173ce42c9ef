#include "bench/harness/targets.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "bench/harness/comparison.hpp"

namespace vostok::bench {

namespace {

constexpr double least_share_of_speed = 0.97;

/// One problem's value for a target.
struct Point {
  const Outcome* outcome;
  double value;
  bool good;  ///< meets Target::each, or reaches the floor by itself
};

bool is_ratio(Measure measure) { return measure == Measure::ratio || measure == Measure::least_ratio; }

bool holds(Measure measure, double value, double bound) { return is_ratio(measure) ? value >= bound : value <= bound; }

bool belongs(const Outcome& outcome, const Target& target) {
  constexpr double half_a_percent = 0.005;
  const Subset& where = target.where;
  if (outcome.n < where.least_n || outcome.n > where.most_n || outcome.row_variation < where.least_row_variation)
    return false;
  if (outcome.sparsity < where.least_sparsity - half_a_percent ||
      outcome.sparsity > where.most_sparsity + half_a_percent)
    return false;
  if (where.least_us == 0) return true;
  const auto timed_us = outcome.rival_us(where.timed.empty() ? target.other : where.timed);
  return timed_us && *timed_us >= where.least_us;
}

std::optional<double> value_of(const Outcome& outcome, const Target& target) {
  const auto over = [](const std::optional<double>& above, double below) {
    return above ? std::optional(*above / below) : std::nullopt;
  };
  switch (target.measure) {
    case Measure::ratio:
    case Measure::least_ratio: return over(outcome.rival_us(target.other), outcome.ours_us);
    case Measure::time_us: return outcome.ours_us;
    case Measure::pack_calls: return over(outcome.packing_us, outcome.ours_us);
    case Measure::regret:
      return outcome.heuristic_us ? over(outcome.heuristic_us, std::min(*outcome.heuristic_us, outcome.ours_us))
                                  : std::nullopt;
  }
  return std::nullopt;
}

bool is_good(const Outcome& outcome, const Target& target, double value) {
  if (!target.each) return !target.floor || holds(target.measure, value, *target.floor);
  const double other_us = outcome.rival_us(target.other).value();
  return other_us < short_us ? outcome.ours_us <= other_us + short_allowance_us : value >= least_share_of_speed;
}

std::vector<Point> points_of(const Target& target, std::span<const Outcome> outcomes) {
  std::vector<Point> points;
  for (const Outcome& outcome : outcomes) {
    if (!belongs(outcome, target)) continue;
    if (const auto value = value_of(outcome, target))
      points.push_back({&outcome, *value, is_good(outcome, target, *value)});
  }
  return points;
}

double together(const Target& target, const std::vector<Point>& points, double worst) {
  if (target.measure == Measure::least_ratio || target.measure == Measure::time_us) return worst;
  std::vector<double> values;
  values.reserve(points.size());
  for (const Point& point : points) values.push_back(point.value);
  return geometric_mean(values);
}

std::string bound_text(const Target& target, const char* what, const std::optional<double>& bound, bool met) {
  if (!bound) return {};
  return fmt::format(", {} {:g}{} {}", what, *bound, target.measure == Measure::time_us ? " us" : "",
                     met ? "met" : "NOT met");
}

std::string measured_text(const Target& target) {
  switch (target.measure) {
    case Measure::ratio: return fmt::format("{} over ours", target.other);
    case Measure::least_ratio: return fmt::format("{} over ours, at least", target.other);
    case Measure::time_us: return "us, at most";
    case Measure::pack_calls: return "calls that a packing takes";
    case Measure::regret: return "the heuristic's time over the best";
  }
  return {};
}

}  // namespace

const char* name(Measure measure) {
  switch (measure) {
    case Measure::ratio: return "ratio";
    case Measure::least_ratio: return "least_ratio";
    case Measure::time_us: return "time_us";
    case Measure::pack_calls: return "pack_calls";
    case Measure::regret: return "regret";
  }
  return nullptr;
}

std::optional<Reached> reach(const Target& target, std::span<const Outcome> outcomes) {
  const std::vector<Point> points = points_of(target, outcomes);
  if (points.empty()) return std::nullopt;
  const Point worst = *std::min_element(points.begin(), points.end(), [&](const Point& a, const Point& b) {
    return is_ratio(target.measure) ? a.value < b.value : a.value > b.value;
  });
  const auto good = std::count_if(points.begin(), points.end(), [](const Point& point) { return point.good; });
  Reached reached{.problems = points.size(),
                  .value = together(target, points, worst.value),
                  .each = static_cast<double>(good) / static_cast<double>(points.size()),
                  .worst = worst.outcome->label,
                  .worst_value = worst.value};
  const bool each_holds = !target.each || std::cmp_equal(good, points.size());
  reached.meets_floor = each_holds && (!target.floor || holds(target.measure, reached.value, *target.floor));
  reached.meets_stretch = each_holds && (!target.stretch || holds(target.measure, reached.value, *target.stretch));
  return reached;
}

Json targets_json(const std::vector<Target>& targets, std::span<const Outcome> outcomes) {
  Json list = Json::array();
  for (const Target& target : targets) {
    const auto reached = reach(target, outcomes);
    Json json = {{"of", target.of},
                 {"measure", name(target.measure)},
                 {"other", text_or_null(target.other)},
                 {"floor", number(target.floor)},
                 {"stretch", number(target.stretch)},
                 {"each", target.each},
                 {"reached", nullptr},
                 {"meets_floor", reached && target.floor ? Json(reached->meets_floor) : Json(nullptr)},
                 {"meets_stretch", reached && target.stretch ? Json(reached->meets_stretch) : Json(nullptr)}};
    if (reached)
      json["reached"] = {{"problems", reached->problems},
                         {"value", number(reached->value)},
                         {"each", number(reached->each)},
                         {"worst", reached->worst},
                         {"worst_value", number(reached->worst_value)}};
    list.push_back(std::move(json));
  }
  return list;
}

std::string targets_text(const std::vector<Target>& targets, std::span<const Outcome> outcomes) {
  std::string text;
  for (const Target& target : targets) {
    text += fmt::format("\ntarget: {}: {}: ", target.of, measured_text(target));
    const auto reached = reach(target, outcomes);
    if (!reached) {
      text += "no problem of it was measured\n";
      continue;
    }
    text += fmt::format("{:.3f}{}{}", reached->value, bound_text(target, "floor", target.floor, reached->meets_floor),
                        bound_text(target, "stretch", target.stretch, reached->meets_stretch));
    if (target.each)
      text += fmt::format(", at 0.97 of its speed (0.3 us where it takes under 4 us) on {:.1f} %", 100 * reached->each);
    else if (reached->problems > 1) text += fmt::format(", {:.1f} % by themselves", 100 * reached->each);
    text += fmt::format("; {} problems, worst {:.3f} ({})\n", reached->problems, reached->worst_value, reached->worst);
  }
  return text;
}

}  // namespace vostok::bench
