// The rules, space and cost model of row_softmax.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/softmax/decisions.hpp"
#include "ops/softmax/row_softmax.hpp"

namespace vostok::ops {

namespace {

struct RowRule {
  const char* reason;
  bool (*breaks)(const SoftmaxSubject&, const RowSoftmaxConfig&);
};

/// Entries that a team's registers hold.
std::int64_t held_entries(const RowSoftmaxConfig& c) { return std::int64_t{c.threads_per_row} * c.vector * c.held_vectors; }

/// Beside those that both families have: what the grid holds, and what cannot be fast.
constexpr std::array row_rules = {
    RowRule{"the grid's x holds fewer blocks than there are",
            [](const SoftmaxSubject& s, const RowSoftmaxConfig& c) { return ceil_div(s.rows(), c.rows_per_block) > 0x7fffffff; }},
    RowRule{"three quarters of a team or more would find nothing in the longest row",
            [](const SoftmaxSubject& s, const RowSoftmaxConfig& c) {
              return c.threads_per_row > 4 && c.threads_per_row >= 4 * ceil_div(std::max<std::int64_t>(s.statistics().longest_row, 1), c.vector) + 4;
            }},
    RowRule{"three quarters of the registers held or more would be empty in the longest row",
            [](const SoftmaxSubject& s, const RowSoftmaxConfig& c) {
              return c.held_vectors > 1 && held_entries(c) >= 4 * (s.statistics().longest_row + c.vector);
            }},
};

RowSoftmaxConfig with_team(RowSoftmaxConfig config, int threads_per_row, int block_threads) {
  config.threads_per_row = threads_per_row;
  config.rows_per_block = std::max(1, block_threads / threads_per_row);
  return config;
}

}  // namespace

std::optional<std::string> RowSoftmaxDecisions::forbidden(const SoftmaxSubject& subject, const RowSoftmaxConfig& config) {
  if (auto why = softmax_forbidden(subject, config)) return why;
  for (const RowRule& rule : row_rules)
    if (rule.breaks(subject, config)) return rule.reason;
  return std::nullopt;
}

RowSoftmaxConfig RowSoftmaxDecisions::default_config(const SoftmaxSubject& subject) {
  const TopologyStatistics& statistics = subject.statistics();
  const auto mean = static_cast<std::int64_t>(std::ceil(statistics.mean_row));
  RowSoftmaxConfig config{.vector = subject.traits.widest_vector, .held_vectors = 2, .row_swizzle = statistics.row_variation > 0.25};
  // Short rows would lie in a vector or two that they share with their neighbours.
  while (config.vector > 1 && mean < std::int64_t{8} * config.vector) config.vector /= 2;
  const std::int64_t most_rows = mean + mean / 4 + config.vector;
  const auto threads_for = [&](int held) {
    const auto wanted = static_cast<std::uint64_t>(ceil_div(most_rows, std::int64_t{config.vector} * held));
    return static_cast<int>(std::clamp<std::uint64_t>(std::bit_ceil(wanted), 4, 1024));
  };
  if (threads_for(2) > 128) config.held_vectors = 4;
  config = with_team(config, threads_for(config.held_vectors), 128);
  while (forbidden(subject, config) && config.held_vectors > 1) config.held_vectors /= 2;
  while (forbidden(subject, config) && config.threads_per_row > 4) config = with_team(config, config.threads_per_row / 2, 128);
  return config;
}

std::vector<RowSoftmaxConfig> RowSoftmaxDecisions::space(const SoftmaxSubject& subject) {
  std::vector<RowSoftmaxConfig> list = {default_config(subject)};
  for (int threads_per_row = 4; threads_per_row <= 1024; threads_per_row *= 2)
    for (const int block_threads : {64, 128, 256, 512})
      for (int vector = 1; vector <= subject.traits.widest_vector; vector *= 2)
        for (const int held_vectors : {1, 2, 4, 8})
          for (const bool row_swizzle : {false, true}) {
            if (threads_per_row > block_threads && block_threads != 64) continue;  // one row a block: the block's size is the row's
            add_new(list, with_team({.vector = vector, .held_vectors = held_vectors, .row_swizzle = row_swizzle}, threads_per_row, block_threads));
          }
  return list;
}

std::vector<RowSoftmaxConfig> RowSoftmaxDecisions::short_list(const SoftmaxSubject& subject) {
  const RowSoftmaxConfig base = default_config(subject);
  std::vector<RowSoftmaxConfig> list = {base};
  const auto with_held = [](RowSoftmaxConfig config, int held_vectors) {
    config.held_vectors = held_vectors;
    return config;
  };
  const auto with_vector = [](RowSoftmaxConfig config, int vector) {
    config.vector = vector;
    return config;
  };
  RowSoftmaxConfig other_order = base;
  other_order.row_swizzle = !base.row_swizzle;
  const int fewer = std::max(4, base.threads_per_row / 2);
  const int more = std::min(1024, base.threads_per_row * 2);
  for (const RowSoftmaxConfig& order : {base, other_order}) {
    add_new(list, order);
    add_new(list, with_team(order, base.threads_per_row, 256));
    add_new(list, with_held(with_team(order, fewer, 128), base.held_vectors * 2));
    add_new(list, with_held(with_team(order, more, 128), std::max(1, base.held_vectors / 2)));
    add_new(list, with_held(with_team(order, std::max(4, fewer / 2), 128), base.held_vectors * 4));
    add_new(list, with_held(with_team(order, std::min(1024, more * 2), 128), 1));
  }
  add_new(list, with_vector(base, subject.traits.widest_vector));
  add_new(list, with_held(with_vector(base, std::max(1, base.vector / 2)), base.held_vectors * 2));
  return list;
}

double RowSoftmaxDecisions::predict_us(const SoftmaxSubject& subject, const RowSoftmaxConfig& config) {
  constexpr double launch_us = 1.8;
  constexpr double chunk_us = 0.7;
  constexpr double exchange_us = 0.3;  // between the warps of a team
  const TopologyStatistics& s = subject.statistics();
  const auto held = static_cast<double>(held_entries(config));
  const auto row_us = [&](double entries) {
    const double chunks = std::max(1.0, std::ceil((entries + config.vector) / held));
    const double packets_us = 0.02 * config.held_vectors;
    return chunk_us + (2 * chunks - 2) * chunk_us + chunks * packets_us + (config.threads_per_row > 32 ? exchange_us : 0.0);
  };
  const double resident = softmax_resident_threads(subject.query) / config.threads_per_row;
  const double waves = std::max(1.0, static_cast<double>(s.rows) * static_cast<double>(subject.batch) / resident);
  const double spread = config.row_swizzle ? 0.0 : 0.5 * s.row_variation;  // lanes of a warp wait for the longest of its rows
  const double reads = 1 + std::max(0.0, 1 - held / std::max(1.0, s.mean_row));
  const double latency_us = waves * row_us(s.mean_row) * (1 + (config.threads_per_row < 32 ? spread : 0.0));
  const double narrow = 4.0 / std::min(4, config.vector * size_of(subject.traits.element) / 2 + 2);
  const double tail_us = row_us(static_cast<double>(s.longest_row)) - row_us(s.mean_row);
  return launch_us + std::max(latency_us, softmax_bytes_us(subject, reads) * narrow) + std::max(0.0, tail_us);
}

}  // namespace vostok::ops
