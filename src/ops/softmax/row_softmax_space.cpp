// The rules, space and cost model of row_softmax.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/softmax/decisions.hpp"
#include "ops/softmax/row_softmax.hpp"

namespace vostok::ops {

namespace {

using RowCase = SoftmaxCase<RowSoftmaxConfig>;
using RowRule = SoftmaxRule<RowSoftmaxConfig>;

/// Entries that the registers of a row's threads hold.
std::int64_t held_entries(const RowSoftmaxConfig& c) {
  return std::int64_t{c.threads_per_row} * c.vector * c.held_vectors;
}

/// Rules beyond those of the kernel, and of both families: limits of the grid, and exclusion of what cannot be fast.
constexpr std::array row_rules = {
    RowRule{"the grid's x holds fewer blocks than there are",
            [](const RowCase& c) { return ceil_div(c.query.rows(), c.config.rows_per_block) > 0x7fffffff; }},
    RowRule{"three quarters of a team or more would find nothing in the longest row",
            [](const RowCase& c) {
              const std::int64_t vectors =
                  ceil_div(std::max<std::int64_t>(c.query.statistics().longest_row, 1), c.config.vector);
              return c.config.threads_per_row > 4 && c.config.threads_per_row >= 4 * vectors + 4;
            }},
    RowRule{"three quarters of the registers held or more would be empty in the longest row",
            [](const RowCase& c) {
              return c.config.held_vectors > 1 &&
                     held_entries(c.config) >= 4 * (c.query.statistics().longest_row + c.config.vector);
            }},
};

RowSoftmaxConfig with_team(RowSoftmaxConfig config, int threads_per_row, int block_threads) {
  config.threads_per_row = threads_per_row;
  config.rows_per_block = std::max(1, block_threads / threads_per_row);
  return config;
}

}  // namespace

std::optional<std::string> RowSoftmaxDecisions::forbidden(const SoftmaxSubject& subject,
                                                          const RowSoftmaxConfig& config) {
  return to_reason(
      reason_against(RowCase{subject, subject.traits, config}, softmax_rules<RowSoftmaxConfig>, row_rules));
}

namespace {

/// All combinations of the space: every team size with every way to hold its entries, in both row orders.
std::vector<RowSoftmaxConfig> every_config(const SoftmaxSubject& subject) {
  std::vector<RowSoftmaxConfig> list;
  for (int threads_per_row = 4; threads_per_row <= 1024; threads_per_row *= 2)
    for (const int block_threads : {64, 128, 256, 512})
      for (int vector = 1; vector <= subject.traits.widest_vector; vector *= 2)
        for (const int held_vectors : {1, 2, 4, 8})
          for (const bool row_swizzle : {false, true}) {
            if (threads_per_row >= block_threads && block_threads != 64)
              continue;  // one row a block: the row sets the block's size
            list.push_back(with_team({.vector = vector, .held_vectors = held_vectors, .row_swizzle = row_swizzle},
                                     threads_per_row, block_threads));
          }
  return list;
}

/// Whether a thread has registers to spare beyond those that the rules count; otherwise kernels of 1,024 threads spill.
bool has_room(const SoftmaxSubject& subject, const RowSoftmaxConfig& config) {
  constexpr int room = 8;
  return softmax_registers(subject, config) + room <= multiprocessor_registers() / threads(config);
}

/// The admitted configs that cannot spill, the likely fastest first; never empty.
std::vector<RowSoftmaxConfig> ranked_configs(const SoftmaxSubject& subject) {
  std::vector<RowSoftmaxConfig> list = ranked(
      every_config(subject),
      [&](const RowSoftmaxConfig& config) {
        return has_room(subject, config) && !RowSoftmaxDecisions::forbidden(subject, config);
      },
      [&](const RowSoftmaxConfig& config) { return RowSoftmaxDecisions::predict_us(subject, config); });
  if (list.empty()) list.push_back(with_team({.vector = 1, .held_vectors = 1}, 4, 128));
  return list;
}

}  // namespace

RowSoftmaxConfig RowSoftmaxDecisions::default_config(const SoftmaxSubject& subject) {
  return ranked_configs(subject).front();
}

std::vector<RowSoftmaxConfig> RowSoftmaxDecisions::space(const SoftmaxSubject& subject) {
  return first_and_others(default_config(subject), every_config(subject));
}

std::vector<RowSoftmaxConfig> RowSoftmaxDecisions::short_list(const SoftmaxSubject& subject) {
  // Of 73 problems the best of eight is within 0.3 % of the best of all
  // (bench/notes/softmax_and_attention.md#what-softmax-was-found-to-take).
  constexpr std::size_t most = 14;
  std::vector<RowSoftmaxConfig> list = ranked_configs(subject);
  list.resize(std::min(list.size(), most));
  return list;
}

/// Fitted to what 73 problems of 81 to 524,288 entries took on an H200
/// (bench/notes/cost_models.md#fitted-to-their-trials).
double RowSoftmaxDecisions::predict_us(const SoftmaxSubject& subject, const RowSoftmaxConfig& config) {
  constexpr double start_us = 1.21;
  constexpr double order_us = 0.11;        // one additional load at the start
  constexpr double shuffle_us = 0.017;     // for each halving of a team within a warp
  constexpr double exchange_us = 0.06;     // for each halving across warps
  constexpr double held_entry_us = 0.022;  // for each entry for which a thread has room, used or not
  constexpr double vector_us =
      0.03;  // for each entry of a vector; the row's first and last vector may belong to neighbours in part
  constexpr double chunk_us = 0.26;       // for entries of the longest row that are not held and so are read twice
  constexpr double block_us = 0.046;      // for each 128 threads of a block
  constexpr double next_block_us = 0.1;   // for each block that an SM starts after the first
  constexpr double slots_per_us = 3.6e6;  // entries with room, used or not
  constexpr double wave_us = 1.0;
  const TopologyStatistics& s = subject.statistics();
  const Machine machine = machine_of(subject.query);
  const auto held = static_cast<double>(held_entries(config));
  const double rows = static_cast<double>(s.rows) * static_cast<double>(subject.batch);
  const double chunks = std::max(1.0, std::ceil((static_cast<double>(s.longest_row) + config.vector) / held));
  const double warp_team = std::min(config.threads_per_row, 32);
  const double latency_us =
      shuffle_us * std::log2(warp_team) + exchange_us * std::log2(config.threads_per_row / warp_team) +
      held_entry_us * config.vector * config.held_vectors + vector_us * config.vector + chunk_us * (chunks - 1) +
      block_us * threads(config) / 128 + (config.row_swizzle ? order_us : 0);
  const double blocks = std::ceil(rows / config.rows_per_block);
  const double work_us = rows * held / (slots_per_us * machine.speed()) +
                         next_block_us * std::max(0.0, blocks / machine.multiprocessors - 1);
  const double waves_us =
      wave_us * std::max(0.0, rows * config.threads_per_row / softmax_resident_threads(subject.query) - 1);
  const double reads = 1 + std::max(0.0, 1 - held / std::max(1.0, s.mean_row));
  const double narrow = 4.0 / std::min(4, config.vector * size_of(subject.traits.element) / 2 + 2);
  return start_us + latency_us + std::max({work_us, waves_us, softmax_bytes_us(subject, reads) * narrow});
}

}  // namespace vostok::ops
