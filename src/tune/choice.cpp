#include "tune/choice.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace vostok::tune {

namespace {

/// Only the candidates with the most rounds compete: a lucky screening sample is no evidence against a finalist.
std::vector<const Result*> contenders(const std::vector<Result>& results) {
  const auto is_measured = [](const Result& result) { return result.status == "measured" && result.median_us; };
  int most_rounds = 0;
  for (const Result& result : results)
    if (is_measured(result)) most_rounds = std::max(most_rounds, result.rounds);
  std::vector<const Result*> found;
  for (const Result& result : results)
    if (is_measured(result) && result.rounds == most_rounds) found.push_back(&result);
  return found;
}

double median_of(const Result* contender) { return contender->median_us.value_or(INFINITY); }

}  // namespace

bool comes_first(const Candidate& a, const Candidate& b) {
  return std::tie(b.is_default, a.family, a.config) < std::tie(a.is_default, b.family, b.config);
}

std::optional<std::size_t> choose(const std::vector<Candidate>& candidates, const std::vector<Result>& results,
                                  double tie) {
  std::vector<const Result*> in_order = contenders(results);
  if (in_order.empty()) return std::nullopt;
  std::sort(in_order.begin(), in_order.end(), [&](const Result* a, const Result* b) {
    return comes_first(candidates[a->candidate], candidates[b->candidate]);
  });
  const Result* const best = *std::min_element(
      in_order.begin(), in_order.end(), [](const Result* a, const Result* b) { return median_of(a) < median_of(b); });
  const double limit_us = median_of(best) + std::max(tie * median_of(best), best->spread_us.value_or(0));
  const auto first = std::find_if(in_order.begin(), in_order.end(),
                                  [&](const Result* result) { return median_of(result) <= limit_us; });
  return (*first)->candidate;
}

}  // namespace vostok::tune
