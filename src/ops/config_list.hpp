// Lists of a family's configs: what spaces and short lists are made with.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vostok::ops {

/// Appends a config unless the list has it already.
template <class Config>
void add_new(std::vector<Config>& list, const Config& config) {
  if (std::find(list.begin(), list.end(), config) == list.end()) list.push_back(config);
}

/// Appends configs of another shape without comparing: they differ from all in the list.
template <class Config>
void append(std::vector<Config>& list, const std::vector<Config>& further) {
  list.insert(list.end(), further.begin(), further.end());
}

/// A config, then all others of a list.
template <class Config>
std::vector<Config> first_and_others(const Config& first, const std::vector<Config>& all) {
  std::vector<Config> list = {first};
  for (const Config& config : all)
    if (!(config == first)) list.push_back(config);
  return list;
}

/// The configs that `admits(config)` allows, cheapest `predict_us(config)` first; ties keep their order.
template <class Config, class Admits, class Predict>
std::vector<Config> ranked(const std::vector<Config>& configs, const Admits& admits, const Predict& predict_us) {
  std::vector<std::pair<double, Config>> priced;
  for (const Config& config : configs)
    if (admits(config)) priced.emplace_back(predict_us(config), config);
  std::stable_sort(priced.begin(), priced.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> list;
  list.reserve(priced.size());
  for (const auto& [us, config] : priced) list.push_back(config);
  return list;
}

/// Why `forbidden(config)` admits neither the smallest config nor the default. Tries the smallest first: it is nearly
/// always admitted, and finding a default ranks the space, which takes a millisecond or two.
template <class Smallest, class Default, class Forbidden>
std::optional<std::string> nothing_admitted(const Smallest& smallest_config, const Default& default_config,
                                            const Forbidden& forbidden) {
  if (!forbidden(smallest_config())) return std::nullopt;
  const auto reason = forbidden(default_config());
  return reason ? std::optional("no config serves the sizes: " + *reason) : std::nullopt;
}

}  // namespace vostok::ops
