// Random configs of any family, and random problems and matrices for those that read A as CSR.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <vostok/spmm.hpp>

#include "device/uneven_mask.hpp"
#include "ops/family.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

/// Values to try for each field of a config.
using FieldValues = std::map<std::string, std::vector<std::string>>;

/// The config at the end of a random walk through admitted ones, away from the default; it has `value` in `field` where one is
/// given. Nothing where the walk does not get there.
inline std::optional<FieldMap> walk_configs(const ops::Family& family, const FieldValues& field_values, const ops::Query& query,
                                            sparse::Random& random, const std::string& field = {}, const std::string& value = {}) {
  constexpr int moves_wanted = 30;
  constexpr int most_attempts = 20000;
  const auto one_of = [&](const auto& list) { return *std::next(list.begin(), random.below(static_cast<std::int64_t>(list.size()))); };
  FieldMap config = family.default_config(query);
  int moves = 0;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    FieldMap candidate = config;
    for (std::int64_t changes = 1 + random.below(3); changes > 0; --changes) {
      const auto& [other, values] = one_of(field_values);
      candidate[other] = one_of(values);
    }
    if (!field.empty() && random.below(2) == 0) candidate[field] = value;
    if (family.forbidden(query, candidate)) continue;
    config = candidate;
    if (++moves >= moves_wanted && (field.empty() || config[field] == value)) return config;
  }
  return std::nullopt;
}

template <class T>
T pick(sparse::Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(static_cast<std::int64_t>(values.size())));
}

inline Spmm random_csr_problem(sparse::Random& random) {
  Spmm problem{.n = pick<std::int64_t>(random, {1, 2, 3, 4, 7, 8, 12, 17, 32, 33, 52, 64, 100})};
  if (random.below(3) == 0) problem.dense_leading = problem.n + random.below(9);
  if (random.below(3) == 0) problem.output_leading = problem.n + random.below(9);
  problem.alignment_bytes = pick(random, {4, 8, 16, 16});
  problem.epilogue.bias = pick(random, {Bias::none, Bias::per_row, Bias::per_column});
  return problem;
}

inline sparse::Csr random_matrix(sparse::Random& random) {
  const auto rows = pick<std::int64_t>(random, {1, 2, 5, 16, 33, 70});
  const auto cols = pick<std::int64_t>(random, {1, 3, 16, 61, 147, 300});
  return uneven_mask(rows, cols, random.bits());
}

}  // namespace vostok::test
