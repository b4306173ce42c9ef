// The rules, space and cost model of split_softmax.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/machine.hpp"
#include "ops/softmax/decisions.hpp"
#include "ops/softmax/split_softmax.hpp"
#include "ops/topology/csr.hpp"

namespace vostok::ops {

namespace {

using SplitCase = SoftmaxCase<SplitSoftmaxConfig>;
using SplitRule = SoftmaxRule<SplitSoftmaxConfig>;

/// Rules beyond those of the kernels, and of both families.
constexpr std::array split_rules = {
    SplitRule{
        "half of a strip's threads or more would find nothing in it",
        [](const SplitCase& c) { return c.config.threads_per_strip * c.config.vector >= 2 * c.config.strip_entries; }},
};

SplitSoftmaxConfig with_strip(SplitSoftmaxConfig config, int strip_entries, int threads_per_strip) {
  config.strip_entries = strip_entries;
  config.threads_per_strip = threads_per_strip;
  config.strips_per_block = std::max(1, 128 / threads_per_strip);
  return config;
}

}  // namespace

std::optional<std::string> SplitSoftmaxDecisions::forbidden(const SoftmaxSubject& subject,
                                                            const SplitSoftmaxConfig& config) {
  return to_reason(
      reason_against(SplitCase{subject, subject.traits, config}, softmax_rules<SplitSoftmaxConfig>, split_rules));
}

SplitSoftmaxConfig SplitSoftmaxDecisions::default_config(const SoftmaxSubject& subject) {
  const SplitSoftmaxConfig config{.vector = subject.traits.widest_vector,
                                  .held_vectors = subject.traits.widest_vector > 4 ? 2 : 4};
  // Shorter strips if long ones would leave SMs idle.
  const std::int64_t entries = subject.statistics().nonzeros * std::min<std::int64_t>(subject.batch, 1024);
  const auto multiprocessors = static_cast<std::int64_t>(machine_of(subject.query).multiprocessors);
  const bool few = entries < 4 * multiprocessors * 4096;
  return few ? with_strip(config, 1024, 128) : with_strip(config, 4096, 256);
}

std::vector<SplitSoftmaxConfig> SplitSoftmaxDecisions::space(const SoftmaxSubject& subject) {
  std::vector<SplitSoftmaxConfig> list = {default_config(subject)};
  for (const int strip_entries : {512, 1024, 2048, 4096})
    for (const int threads_per_strip : {32, 64, 128, 256, 512})
      for (int vector = 1; vector <= subject.traits.widest_vector; vector *= 2)
        for (const int held_vectors : {1, 2, 4, 8})
          add_new(list, with_strip({.vector = vector, .held_vectors = held_vectors}, strip_entries, threads_per_strip));
  return list;
}

std::vector<SplitSoftmaxConfig> SplitSoftmaxDecisions::short_list(const SoftmaxSubject& subject) {
  const SplitSoftmaxConfig base = default_config(subject);
  std::vector<SplitSoftmaxConfig> list = {base};
  for (const auto& [strip_entries, threads_per_strip] : {std::pair{512, 64},
                                                         {512, 128},
                                                         {1024, 64},
                                                         {1024, 128},
                                                         {1024, 256},
                                                         {2048, 128},
                                                         {2048, 256},
                                                         {4096, 256},
                                                         {4096, 512}})
    add_new(list, with_strip(base, strip_entries, threads_per_strip));
  return list;
}

/// Constants fitted to what 78 problems took on an H200 (bench/notes/cost_models.md#fitted-to-their-trials).
double SplitSoftmaxDecisions::predict_us(const SoftmaxSubject& subject, const SplitSoftmaxConfig& config) {
  constexpr double launch_us = 0.9;
  constexpr double chunk_us = 0.15;
  constexpr double block_us = 0.2;  // for each block that an SM starts: every row has at least one
  const TopologyStatistics& s = subject.statistics();
  const bool sums = subject.traits.statistics != RowStatistics::read;
  const auto strips = static_cast<double>(strip_room(s, config.strip_entries)) * static_cast<double>(subject.batch);
  const double resident = softmax_resident_threads(subject.query) / config.threads_per_strip;
  const double chunks = std::ceil((config.strip_entries + config.vector) /
                                  (1.0 * config.threads_per_strip * config.vector * config.held_vectors));
  const double mean_strip = std::min(
      1.0, static_cast<double>(s.nonzeros) * static_cast<double>(subject.batch) / (strips * config.strip_entries));
  const double waves = std::max(1.0, strips / resident);
  const double blocks = strips / config.strips_per_block / machine_of(subject.query).multiprocessors;
  const double pass_us = chunk_us * (1 + waves * std::max(1.0, chunks * mean_strip)) + block_us * blocks;
  return (sums ? 2 : 1) * (launch_us + pass_us) + softmax_bytes_us(subject, sums ? 2 : 1);
}

}  // namespace vostok::ops
