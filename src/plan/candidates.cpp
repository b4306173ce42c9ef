#include "plan/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace vostok::plan {

namespace {

/// A candidate and the time that its cost model predicts.
using Ranked = std::pair<double, tune::Candidate>;

/// A default that is expected to take so many times the cheapest one's time need not be measured whatever the budget:
/// of 457 problems that an H200 tuned the fastest default was never beyond it (bench/notes/tuning.md#first-candidates).
constexpr double unlikely_factor = 2.5;

void mark_unlikely(std::vector<Ranked>& ranked) {
  double cheapest_us = INFINITY;
  for (const auto& [predicted_us, candidate] : ranked)
    if (candidate.is_default) cheapest_us = std::min(cheapest_us, predicted_us);
  for (auto& [predicted_us, candidate] : ranked) candidate.unlikely = predicted_us > unlikely_factor * cheapest_us;
}

/// Orders by prediction, so that a budget that ends early was spent on likely winners.
std::vector<tune::Candidate> by_prediction(std::vector<Ranked> ranked) {
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.first < b.first; });
  std::vector<tune::Candidate> candidates;
  candidates.reserve(ranked.size());
  for (auto& [predicted_us, candidate] : ranked) candidates.push_back(std::move(candidate));
  return candidates;
}

std::string format_words(const std::string& format) { return format.empty() ? "CSR" : format; }

/// The default if the limits admit it, else the first admitted config of the short list.
std::optional<ops::Config> usable_config(const ops::Family& family, const ops::Query& query,
                                         std::int64_t max_workspace_bytes) {
  const ops::Config standard = family.default_config(query);
  if (!forbidden(family, query, standard, max_workspace_bytes)) return standard;
  for (const ops::Config& config : family.short_list(query))
    if (!forbidden(family, query, config, max_workspace_bytes)) return config;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> declined(const ops::Family& family, const ops::Query& query) {
  if (!query.only_family.empty() && query.only_family != family.name())
    return fmt::format("PlanOptions::family is {}", query.only_family);
  return family.declines(query);
}

std::optional<std::string> forbidden(const ops::Family& family, const ops::Query& query, const ops::Config& config,
                                     std::int64_t max_workspace_bytes) {
  if (auto reason = family.forbidden(query, config)) return reason;
  if (query.packed_format && family.packed_format(query, config) != *query.packed_format)
    return fmt::format("reads values as {}, and the plan's other choices as {}",
                       format_words(family.packed_format(query, config)), format_words(*query.packed_format));
  const std::int64_t bytes = family.workspace_bytes(query, config);
  if (bytes > max_workspace_bytes)
    return fmt::format("needs {} bytes of workspace, and Options::max_workspace_bytes is {}", bytes,
                       max_workspace_bytes);
  return std::nullopt;
}

std::vector<tune::Candidate> short_list(const ops::Query& query, std::int64_t max_workspace_bytes) {
  std::vector<Ranked> candidates;
  for (const auto& family : ops::families(query.operation)) {
    if (declined(*family, query)) continue;
    const ops::Config standard = family->default_config(query);
    for (const ops::Config& config : family->short_list(query)) {
      if (forbidden(*family, query, config, max_workspace_bytes)) continue;
      const bool is_default = config == standard;
      const double predicted_us = family->predict_us(query, config);
      candidates.push_back(
          {predicted_us, {.family = std::string(family->name()), .config = config, .is_default = is_default}});
    }
  }
  mark_unlikely(candidates);
  return by_prediction(std::move(candidates));
}

std::vector<tune::Candidate> all_candidates(const ops::Query& query, std::int64_t max_workspace_bytes) {
  std::vector<tune::Candidate> candidates = short_list(query, max_workspace_bytes);
  std::set<ops::Config> listed;
  for (const tune::Candidate& candidate : candidates) listed.insert(candidate.config);
  std::vector<Ranked> ranked;
  for (const auto& family : ops::families(query.operation)) {
    if (declined(*family, query)) continue;
    const std::string name(family->name());
    for (const ops::Config& config : family->space(query)) {
      if (listed.contains(config) || forbidden(*family, query, config, max_workspace_bytes)) continue;
      const double predicted_us = family->predict_us(query, config);
      ranked.push_back({predicted_us, {.family = name, .config = config}});
    }
  }
  for (tune::Candidate& candidate : by_prediction(std::move(ranked))) candidates.push_back(std::move(candidate));
  return candidates;
}

std::vector<tune::Candidate> candidates_of(const ops::Query& query, Effort effort, std::int64_t max_workspace_bytes) {
  return effort == Effort::quick ? short_list(query, max_workspace_bytes) : all_candidates(query, max_workspace_bytes);
}

std::optional<Predicted> cheapest(const ops::Query& query, std::int64_t max_workspace_bytes, std::string& reasons) {
  std::optional<Predicted> best;
  for (const auto& family : ops::families(query.operation)) {
    if (!query.only_family.empty() && query.only_family != family->name())
      continue;  // the query does not want this family
    if (auto reason = declined(*family, query)) {
      reasons += fmt::format(" {}: {}.", family->name(), *reason);
      continue;
    }
    auto config = usable_config(*family, query, max_workspace_bytes);
    if (!config) {
      reasons += fmt::format(" {}: every config needs more workspace than Options::max_workspace_bytes = {}{}.",
                             family->name(), max_workspace_bytes,
                             query.packed_format ? ", or reads another packed format" : "");
      continue;
    }
    const double predicted_us = family->predict_us(query, *config);
    if (best && predicted_us >= best->us) continue;
    best = {.family = family.get(), .config = *config, .us = predicted_us};
  }
  return best;
}

}  // namespace vostok::plan
