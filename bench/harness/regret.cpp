#include "bench/harness/regret.hpp"

#include <map>

#include "base/text.hpp"
#include "bench/harness/targets.hpp"

namespace vostok::bench {

namespace {

/// By family, and under "all".
std::map<std::string, Reached> regrets(std::span<const Outcome> outcomes) {
  std::map<std::string, std::vector<Outcome>> groups;
  for (const Outcome& outcome : outcomes) {
    groups["all"].push_back(outcome);
    groups[outcome.family].push_back(outcome);
  }
  std::map<std::string, Reached> result;
  for (const auto& [group, members] : groups)
    if (const auto reached = reach({.measure = Measure::regret, .floor = most_regret}, members))
      result[group] = *reached;
  return result;
}

}  // namespace

Json regret_json(std::span<const Outcome> outcomes) {
  Json json = Json::object();
  for (const auto& [group, reached] : regrets(outcomes))
    json[group] = {{"problems", reached.problems},
                   {"geomean", number(reached.value)},
                   {"worst", number(reached.worst_value)},
                   {"worst_problem", reached.worst}};
  return json;
}

std::string regret_text(std::span<const Outcome> outcomes) {
  const auto all = regrets(outcomes);
  if (all.empty()) return {};
  std::string text =
      "\n| heuristic over the best, by the family chosen | problems | geomean | worst | |\n| --- | ---: | ---: | ---: "
      "| --- |\n";
  for (const auto& [group, reached] : all)
    text += fmt::format("| {} | {} | {:.3f} | {:.3f} | {} |\n", group, reached.problems, reached.value,
                        reached.worst_value, reached.worst);
  return text;
}

}  // namespace vostok::bench
