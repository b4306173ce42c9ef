// Named distributions of operands: the ordinary ones, for which the tighter bound of `accurate` holds, and wide ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sparse/generate.hpp"

namespace vostok::test {

/// Makes one element of many.
struct Distribution {
  std::string name;
  float (*draw)(sparse::Random& random);
};

inline float sign_of(sparse::Random& random) { return random.uniform() < 0.5 ? -1.0F : 1.0F; }

/// +-10^e with e uniform over [-decades / 2, decades / 2).
inline float log_uniform(sparse::Random& random, double decades) {
  return sign_of(random) * static_cast<float>(std::pow(10.0, (random.uniform() - 0.5) * decades));
}

/// With three degrees of freedom: heavy tails.
inline float student(sparse::Random& random) {
  double squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = random.normal();
    squares += x * x;
  }
  return static_cast<float>(random.normal() / std::sqrt(squares / 3 + 1e-12));
}

inline const std::vector<Distribution>& ordinary_distributions() {
  static const std::vector<Distribution> list = {
      {"normal", [](sparse::Random& r) { return static_cast<float>(r.normal()); }},
      {"uniform", [](sparse::Random& r) { return static_cast<float>(2 * r.uniform() - 1); }},
      {"ReLU of normal", [](sparse::Random& r) { return std::max(0.0F, static_cast<float>(r.normal())); }},
      {"ReLU of which 95 % are zero",
       [](sparse::Random& r) { return r.uniform() < 0.95 ? 0.0F : std::fabs(static_cast<float>(r.normal())); }},
      {"SiLU of normal",
       [](sparse::Random& r) {
         const double x = r.normal();
         return static_cast<float>(x / (1 + std::exp(-x)));
       }},
      {"Student's t, three degrees", student},
      {"log-uniform over 4 decades", [](sparse::Random& r) { return log_uniform(r, 4); }},
  };
  return list;
}

inline const std::vector<Distribution>& wide_distributions() {
  static const std::vector<Distribution> list = {
      {"log-uniform over 8 decades", [](sparse::Random& r) { return log_uniform(r, 8); }},
      {"log-uniform over 12 decades", [](sparse::Random& r) { return log_uniform(r, 12); }},
      {"exp(6 normal)",
       [](sparse::Random& r) {
         return sign_of(r) * static_cast<float>(std::exp(6 * std::clamp(r.normal(), -3.0, 3.0)));
       }},
      {"one in a hundred is 1e6 times the others",
       [](sparse::Random& r) { return static_cast<float>(r.normal()) * (r.uniform() < 0.01 ? 1e6F : 1.0F); }},
      {"near the smallest normal number", [](sparse::Random& r) { return log_uniform(r, 2) * 1e-18F; }},
  };
  return list;
}

inline std::vector<float> drawn(const Distribution& from, std::int64_t count, std::uint64_t seed) {
  sparse::Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = from.draw(random);
  return values;
}

}  // namespace vostok::test
