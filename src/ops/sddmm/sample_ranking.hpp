// Configs of the families on tensor cores in the order of their cost models, and few of them that differ.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace vostok::ops::sampled {

/// Those that `forbidden(config)` admits, cheapest `predict_us(config)` first.
template <class Config, class Forbidden, class Predict>
std::vector<Config> ranked(const std::vector<Config>& configs, const Forbidden& forbidden, const Predict& predict_us) {
  std::vector<std::pair<double, Config>> priced;
  for (const Config& config : configs)
    if (!forbidden(config)) priced.emplace_back(predict_us(config), config);
  std::stable_sort(priced.begin(), priced.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> list;
  for (const auto& [us, config] : priced) list.push_back(config);
  return list;
}

/// The first of a list, of configs that are `alike(a, b)` no more than two.
template <class Config, class Alike>
std::vector<Config> few_of_each(const std::vector<Config>& ranked, const Alike& alike) {
  constexpr std::size_t most = 16;
  constexpr int most_alike = 2;
  std::vector<Config> list;
  for (const Config& config : ranked) {
    if (list.size() == most) break;
    const auto others = std::count_if(list.begin(), list.end(), [&](const Config& other) { return alike(other, config); });
    if (others < most_alike) list.push_back(config);
  }
  return list;
}

}  // namespace vostok::ops::sampled
