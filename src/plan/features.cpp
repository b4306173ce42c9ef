#include "plan/features.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/field_map.hpp"
#include "base/text.hpp"

namespace vostok::plan {

namespace {

/// Steps of a quarter octave: ratios below about 1.19 share a step.
long log_step(double value) { return value <= 0 ? -1000 : std::lround(4 * std::log2(value)); }

}  // namespace

Features features_of(const ops::Query& query) {
  const TopologyStatistics& statistics = query.statistics;
  return {.m = statistics.rows,
          .k = statistics.cols,
          .n = query.n.most,
          .nonzeros = statistics.nonzeros,
          .longest_row = statistics.longest_row,
          .row_variation = statistics.row_variation,
          .index = name(query.index)};
}

ProblemKey problem_key(const ops::Query& query) {
  return {.operation = std::string(query.operation),
          .exact = query.exact,
          .features = features_of(query),
          .policy = name(query.policy),
          .plain = query.plain};
}

std::string feature_bucket(const TopologyStatistics& statistics) {
  const double skew = statistics.mean_row > 0 ? static_cast<double>(statistics.longest_row) / statistics.mean_row : 0;
  return fmt::format("density {} variation {} skew {} runs {}", log_step(statistics.mean_row),
                     std::lround(10 * statistics.row_variation), log_step(skew) / 2,
                     std::lround(4 * statistics.run_share));
}

std::string key_words(const ProblemKey& key) {
  const Features& features = key.features;
  return fmt::format("{} m {} k {} n {} nonzeros {} ({}, {})", key.operation, features.m, features.k, features.n,
                     features.nonzeros, key.exact, key.policy);
}

std::string words_beside(const ops::Query& query) {
  const auto whole = parse_field_map(query.exact);
  const auto plain = parse_field_map(query.plain);
  if (!whole || !plain) return {};
  FieldMap beside;
  std::set_difference(whole->begin(), whole->end(), plain->begin(), plain->end(), std::inserter(beside, beside.end()));
  return to_text(beside);
}

std::string query_words(const ops::Query& query) { return key_words(problem_key(query)); }

std::string memo_key(const ops::Query& query, Effort effort) {
  const Features features = features_of(query);
  // Sortedness and repeats are in the key because families decline masks that are not sorted or name a column twice.
  return fmt::format(
      "{}|{}|{}|{}|m {} k {} n {}-{} by {} nonzeros {} longest {} variation {:.17g} runs {:.17g} spans {:.17g} sorted "
      "{} "
      "repeats {}",
      name(effort), name(query.policy), query.operation, query.identity, features.m, features.k, query.n.least,
      query.n.most, query.n.divisor(), features.nonzeros, features.longest_row, features.row_variation,
      query.statistics.run_share, query.statistics.span_share, query.statistics.sorted, query.statistics.duplicates);
}

}  // namespace vostok::plan
