// Picks a few different configs of the tensor-core families.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace vostok::ops::sampled {

/// The first of a ranked list, at most two of those that are `alike(a, b)`.
template <class Config, class Alike>
std::vector<Config> few_of_each(const std::vector<Config>& ranked, const Alike& alike) {
  constexpr std::size_t most = 16;
  constexpr int most_alike = 2;
  std::vector<Config> list;
  for (const Config& config : ranked) {
    if (list.size() == most) break;
    const auto others =
        std::count_if(list.begin(), list.end(), [&](const Config& other) { return alike(other, config); });
    if (others < most_alike) list.push_back(config);
  }
  return list;
}

}  // namespace vostok::ops::sampled
