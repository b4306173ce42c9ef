#include "bench/harness/comparisons.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace vostok::bench {

namespace {

constexpr const char* everything = "all";

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace

void Comparisons::add(const std::string& other, const std::string& group, const TimePair& pair) {
  auto position = std::find_if(others_.begin(), others_.end(), [&](const Other& known) { return known.name == other; });
  if (position == others_.end()) position = others_.insert(position, {.name = other, .groups = {}});
  position->groups[everything].push_back(pair);
  if (group != everything) position->groups[group].push_back(pair);
}

Json Comparisons::to_json() const {
  Json result = Json::object();
  for (const Other& other : others_) {
    Json& entry = result[other.name];
    for (const auto& [group, pairs] : other.groups) {
      const Comparison comparison = compare(pairs);
      entry["groups"][group] = {{"problems", comparison.problems},
                                {"geomean", number(comparison.geomean)},
                                {"at_least_as_fast", number(comparison.at_least_as_fast)},
                                {"with_allowance", number(comparison.with_allowance)},
                                {"within_noise", number(comparison.within_noise)}};
      if (group != everything) continue;
      entry["worst"] = Json::array();
      for (const TimePair& pair : comparison.worst)
        entry["worst"].push_back({{"problem", pair.label},
                                  {"ratio", number(pair.ratio())},
                                  {"ours_us", number(pair.ours_us)},
                                  {"other_us", number(pair.other_us)}});
    }
  }
  return result;
}

std::string Comparisons::table() const {
  if (others_.empty()) return {};
  std::string text = fmt::format(
      "\n| other over ours | group | problems | geomean | at least as fast | with {} us below {} us | within noise |\n",
      short_allowance_us, short_us);
  text += "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Other& other : others_) {
    for (const auto& [group, pairs] : other.groups) {
      const Comparison comparison = compare(pairs);
      text += fmt::format("| {} | {} | {} | {:.3f}x | {} | {} | {} |\n", other.name, group, comparison.problems,
                          comparison.geomean, percent(comparison.at_least_as_fast), percent(comparison.with_allowance),
                          percent(comparison.within_noise));
    }
  }
  for (const Other& other : others_) {
    text +=
        fmt::format("\n| worst against {} | ratio | ours us | other us |\n| --- | ---: | ---: | ---: |\n", other.name);
    for (const TimePair& pair : compare(other.groups.at(everything)).worst)
      text += fmt::format("| {} | {:.3f} | {:.3f} | {:.3f} |\n", pair.label, pair.ratio(), pair.ours_us, pair.other_us);
  }
  return text;
}

}  // namespace vostok::bench
