// What every family's lists of configs have to be.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <vector>

#include "ops/family.hpp"

namespace vostok::test {

/// How many of a list the family's rules admit.
inline std::ptrdiff_t admitted(const ops::Family& family, const ops::Query& query,
                               const std::vector<ops::Config>& list) {
  return std::count_if(list.begin(), list.end(),
                       [&](const ops::Config& config) { return !family.forbidden(query, config); });
}

/// A list begins with the default and repeats nothing.
inline void check_list(const std::vector<ops::Config>& list, const ops::Config& standard) {
  REQUIRE(!list.empty());
  CHECK(list.front() == standard);
  CHECK(std::set<ops::Config>(list.begin(), list.end()).size() == list.size());
}

/// The family serves the query; its default, and all of its short list of so many at most, are admitted.
inline void check_short_list(const ops::Family& family, const ops::Query& query, std::size_t most) {
  CHECK(family.declines(query).value_or("") == "");
  const ops::Config standard = family.default_config(query);
  CHECK(family.forbidden(query, standard).value_or("") == "");
  const std::vector<ops::Config> list = family.short_list(query);
  check_list(list, standard);
  CHECK(list.size() <= most);
  for (const ops::Config& config : list) CHECK(family.forbidden(query, config).value_or("") == "");
}

/// Its space has so many at most.
inline void check_space(const ops::Family& family, const ops::Query& query, std::size_t most) {
  const std::vector<ops::Config> space = family.space(query);
  check_list(space, family.default_config(query));
  CHECK(space.size() <= most);
}

}  // namespace vostok::test
