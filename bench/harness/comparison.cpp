#include "bench/harness/comparison.hpp"

#include <algorithm>
#include <cmath>

namespace vostok::bench {

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return 1;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

Comparison compare(std::vector<TimePair> pairs) {
  constexpr std::size_t most_shown = 10;
  Comparison result{.problems = pairs.size()};
  if (pairs.empty()) return result;
  std::vector<double> ratios;
  ratios.reserve(pairs.size());
  for (const TimePair& pair : pairs) ratios.push_back(pair.ratio());
  result.geomean = geometric_mean(ratios);

  const auto share = [&](auto slack_us) {
    const auto fast = std::count_if(pairs.begin(), pairs.end(), [&](const TimePair& pair) {
      return pair.ours_us <= pair.other_us + slack_us(pair);
    });
    return static_cast<double>(fast) / static_cast<double>(pairs.size());
  };
  result.at_least_as_fast = share([](const TimePair&) { return 0.0; });
  result.with_allowance =
      share([](const TimePair& pair) { return pair.other_us < short_us ? short_allowance_us : 0.0; });
  result.within_noise = share([](const TimePair& pair) { return pair.ours_spread_us + pair.other_spread_us; });

  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const TimePair& a, const TimePair& b) { return a.ratio() < b.ratio(); });
  pairs.resize(std::min(pairs.size(), most_shown));
  result.worst = std::move(pairs);
  return result;
}

}  // namespace vostok::bench
