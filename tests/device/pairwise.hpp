// Few combinations of many factors, among which every pair of two factors' levels occurs.
#pragma once

#include <cstddef>
#include <set>
#include <tuple>
#include <vector>

#include "sparse/generate.hpp"

namespace vostok::test {

/// Rows of one level for each factor; `levels` says how many a factor has. Greedy: each row is the best of some random
/// ones that hold a pair which no row has yet.
inline std::vector<std::vector<int>> pairwise(const std::vector<int>& levels, std::uint64_t seed) {
  using Pair = std::tuple<std::size_t, std::size_t, int, int>;
  std::set<Pair> missing;
  for (std::size_t a = 0; a < levels.size(); ++a)
    for (std::size_t b = a + 1; b < levels.size(); ++b)
      for (int i = 0; i < levels[a]; ++i)
        for (int j = 0; j < levels[b]; ++j) missing.insert({a, b, i, j});

  const auto visit_missing = [&](const std::vector<int>& row, auto visit) {
    for (std::size_t a = 0; a < row.size(); ++a)
      for (std::size_t b = a + 1; b < row.size(); ++b)
        if (const auto found = missing.find({a, b, row[a], row[b]}); found != missing.end()) visit(found);
  };
  sparse::Random random(seed);
  std::vector<std::vector<int>> rows;
  while (!missing.empty()) {
    constexpr int candidates = 60;
    std::vector<int> best;
    std::size_t most = 0;
    for (int c = 0; c < candidates; ++c) {
      std::vector<int> row;
      for (const int count : levels) row.push_back(static_cast<int>(random.below(count)));
      const auto [a, b, i, j] = *missing.begin();
      row[a] = i;
      row[b] = j;
      std::size_t found = 0;
      visit_missing(row, [&](auto) { ++found; });
      if (found > most) most = found, best = row;
    }
    visit_missing(best, [&](auto place) { missing.erase(place); });
    rows.push_back(best);
  }
  return rows;
}

}  // namespace vostok::test
