// Shared by the families without data reuse: elements are counted through a grid of one row, and time is bound by
// bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "ops/family.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/rules.hpp"

namespace vostok::ops::stream {

/// Elements of one load or store: a power of two that divides `length`, within 16 bytes and the alignment.
inline int widest_vector(std::int64_t length, int alignment_bytes, Dtype type) {
  return static_cast<int>(std::gcd<std::int64_t>(std::min(16, alignment_bytes) / size_of(type), length));
}

inline bool needs_wide_indices(std::int64_t elements) { return elements > std::numeric_limits<std::int32_t>::max(); }

template <class Config>
std::int64_t blocks(const Config& config, std::int64_t elements) {
  return ceil_div(elements, std::int64_t{config.vector} * config.vectors_per_thread * config.block_threads);
}

/// Its query is the number of elements.
template <class Traits, class Config>
using StreamCase = Case<std::int64_t, Traits, Config>;

template <class Traits, class Config>
inline constexpr std::array rules = {
    Rule<StreamCase<Traits, Config>>{
        "the grid's x holds fewer blocks than there are",
        [](const StreamCase<Traits, Config>& c) { return blocks(c.config, c.query) > most_blocks_on_x; }},
};

/// Wide vectors, and several for each thread if that still fills every SM; narrower ones if threads would be too few.
template <class Config>
Config default_config(int widest, std::int64_t elements) {
  Config config{.vector = widest, .vectors_per_thread = 1, .block_threads = 256};
  constexpr std::int64_t resident_threads = std::int64_t{usual_multiprocessors} * multiprocessor_of_sm_90.threads;
  constexpr std::int64_t least_threads = std::int64_t{usual_multiprocessors} * 192;
  if (elements / widest >= 4 * resident_threads) config.vectors_per_thread = 2;
  while (config.vector > 1 && elements / config.vector < least_threads) config.vector /= 2;
  return config;
}

template <class Config>
std::vector<Config> space(int widest, std::int64_t elements) {
  std::vector<Config> list = {default_config<Config>(widest, elements)};
  for (int vector = widest; vector >= 1; vector /= 2)
    for (const int vectors_per_thread : {1, 2, 4, 8})
      for (const int block_threads : {128, 256, 512}) {
        const Config config{.vector = vector, .vectors_per_thread = vectors_per_thread, .block_threads = block_threads};
        if (!(config == list.front())) list.push_back(config);
      }
  return list;
}

/// The configs with the widest vectors or those of the default.
template <class Config>
std::vector<Config> short_list(int widest, std::int64_t elements) {
  std::vector<Config> list = space<Config>(widest, elements);
  const int standard = list.front().vector;
  std::erase_if(list, [&](const Config& config) { return config.vector != widest && config.vector != standard; });
  return list;
}

/// Predicted time of moving this many bytes; too few `threads` leave latency exposed.
inline double predict_us(const Query& query, double bytes, double threads) {
  const Machine machine = machine_of(query);
  constexpr double launch_us = 1.8;
  constexpr double wave_us = 1.0;
  const double waves = std::max(1.0, threads / (machine.multiprocessors * 2048));
  const double filled = std::min(1.0, threads / (machine.multiprocessors * 512));
  return launch_us + wave_us * std::sqrt(waves) + bytes / (machine.memory_bytes_per_us * std::max(filled, 0.05));
}

/// The parts of a family that moves every element once: its Config is {vector, vectors_per_thread, block_threads}.
/// `TraitsOf` and `ElementCount` are functions of the problem.
template <class QueryType, class Traits, class ConfigType, Traits (*TraitsOf)(const decltype(QueryType::problem)&),
          std::int64_t (*ElementCount)(const decltype(QueryType::problem)&)>
struct StreamFamily {
  using Query = QueryType;
  using Config = ConfigType;

  static std::optional<std::string> declines(const Query&) { return std::nullopt; }
  static Config default_config(const Query& query) {
    return stream::default_config<Config>(widest(query), ElementCount(query.problem));
  }
  static std::vector<Config> space(const Query& query) {
    return stream::space<Config>(widest(query), ElementCount(query.problem));
  }
  static std::vector<Config> short_list(const Query& query) {
    return stream::short_list<Config>(widest(query), ElementCount(query.problem));
  }
  static std::optional<std::string> forbidden(const Query& query, const Config& config) {
    const StreamCase<Traits, Config> asked{ElementCount(query.problem), TraitsOf(query.problem), config};
    return to_reason(reason_against(asked, rules<Traits, Config>));
  }
  static TopologyNeeds needs(const Query&, const Config&) { return {}; }
  static std::int64_t workspace_bytes(const Query&, const Config&) { return 0; }

 private:
  static int widest(const Query& query) { return TraitsOf(query.problem).widest_vector; }
};

}  // namespace vostok::ops::stream
