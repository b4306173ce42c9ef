#include "tune/choice.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

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

bool comes_first(const StoredCandidate& a, const StoredCandidate& b) {
  return std::tie(b.is_default, a.family, a.config) < std::tie(a.is_default, b.family, b.config);
}

double median_of(const Result* contender) { return contender->median_us.value_or(INFINITY); }

}  // namespace

std::optional<std::size_t> choose(const std::vector<Result>& results,
                                  const std::function<StoredCandidate(std::size_t)>& stored, double tie) {
  std::vector<std::pair<StoredCandidate, const Result*>> in_order;
  for (const Result* result : contenders(results)) in_order.emplace_back(stored(result->candidate), result);
  if (in_order.empty()) return std::nullopt;
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return comes_first(a.first, b.first); });
  const Result* const best = std::min_element(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
                               return median_of(a.second) < median_of(b.second);
                             })->second;
  const double limit_us = median_of(best) + std::max(tie * median_of(best), best->spread_us.value_or(0));
  const auto first = std::find_if(in_order.begin(), in_order.end(),
                                  [&](const auto& contender) { return median_of(contender.second) <= limit_us; });
  return first->second->candidate;
}

}  // namespace vostok::tune
