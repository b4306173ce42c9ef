// Random choices, and random configs of a family, away from its default: what tests run beside it.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config_fields.hpp"
#include "ops/family.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

template <class T>
T pick(sparse::Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(static_cast<std::int64_t>(values.size())));
}

/// Values to try for each field of a config.
using FieldValues = std::map<std::string, std::vector<std::string>>;

/// The config at the end of a random walk through admitted ones, from the default on; it has `value` in `field` where
/// one is given. Nothing where the walk does not get there.
inline std::optional<ops::Config> walk(const ops::Family& family, const ops::Query& query, const FieldValues& all,
                                       sparse::Random& random, const std::string& field = {},
                                       const std::string& value = {}) {
  constexpr int moves_wanted = 30;
  constexpr int most_attempts = 20000;
  const auto one_of = [&](const auto& list) {
    return *std::next(list.begin(), random.below(static_cast<std::int64_t>(list.size())));
  };
  ops::Config config = family.default_config(query);
  int moves = 0;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    FieldMap changed;
    for (std::int64_t changes = 1 + random.below(3); changes > 0; --changes) {
      const auto& [other, values] = one_of(all);
      changed[other] = one_of(values);
    }
    if (!field.empty() && random.below(2) == 0) changed[field] = value;
    const ops::Config candidate = with_fields(family, config, changed);
    if (family.forbidden(query, candidate)) continue;
    config = candidate;
    if (++moves >= moves_wanted && (field.empty() || test::field(config, field) == value)) return config;
  }
  return std::nullopt;
}

inline ops::Config random_config(const ops::Family& family, const ops::Query& query, const FieldValues& all,
                                 sparse::Random& random) {
  return walk(family, query, all, random).value_or(family.default_config(query));
}

/// A config of the space that the rules admit.
inline ops::Config space_config(const ops::Family& family, const ops::Query& query, sparse::Random& random) {
  std::vector<ops::Config> admitted;
  for (const ops::Config& config : family.space(query))
    if (!family.forbidden(query, config)) admitted.push_back(config);
  REQUIRE(!admitted.empty());
  return admitted[static_cast<std::size_t>(random.below(std::ssize(admitted)))];
}

}  // namespace vostok::test
