#include "bench/harness/targets.hpp"

#include "base/text.hpp"

namespace vostok::bench {

namespace {

bool is_met(const Target& target, const Comparison& reached) { return reached.geomean >= target.geomean && reached.at_least_as_fast >= target.share; }

std::string asked_text(const Target& target) {
  std::string text = fmt::format("{:.2f}x", target.geomean);
  if (target.share > 0) text += fmt::format(" and at least as fast on {:.0f} %", 100 * target.share);
  text += fmt::format(" against {}", target.other);
  if (target.least_us > 0) text += fmt::format(" where that takes {} us and more", target.least_us);
  return text;
}

}  // namespace

Json targets_json(const std::vector<Target>& targets, const Comparisons& comparisons) {
  Json list = Json::array();
  for (const Target& target : targets) {
    const Comparison reached = comparisons.with(target.other, target.least_us);
    const bool any = reached.problems > 0;
    list.push_back({{"other", target.other},
                    {"least_us", target.least_us},
                    {"geomean", target.geomean},
                    {"share", target.share},
                    {"reached",
                     {{"problems", reached.problems},
                      {"geomean", any ? number(reached.geomean) : Json(nullptr)},
                      {"share", any ? number(reached.at_least_as_fast) : Json(nullptr)}}},
                    {"met", any ? Json(is_met(target, reached)) : Json(nullptr)}});
  }
  return list;
}

std::string targets_text(const std::vector<Target>& targets, const Comparisons& comparisons) {
  std::string text;
  for (const Target& target : targets) {
    const Comparison reached = comparisons.with(target.other, target.least_us);
    text += fmt::format("\ntarget: {}: ", asked_text(target));
    if (reached.problems == 0) {
      text += "no problem has its time\n";
      continue;
    }
    text += fmt::format("{}, {:.3f}x and {:.1f} % of {} problems, worst {:.3f}x ({})\n", is_met(target, reached) ? "met" : "NOT met", reached.geomean,
                        100 * reached.at_least_as_fast, reached.problems, reached.worst.front().ratio(), reached.worst.front().label);
  }
  return text;
}

}  // namespace vostok::bench
