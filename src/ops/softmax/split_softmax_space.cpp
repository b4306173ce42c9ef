// The rules, space and cost model of split_softmax.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/checked.hpp"
#include "ops/softmax/split_softmax.hpp"
#include "ops/topology/csr.hpp"

namespace vostok::ops::split_softmax {

namespace {

struct Rule {
  const char* reason;
  bool (*breaks)(const SoftmaxSubject&, const SplitSoftmaxConfig&);
};

bool is_power_of_two_up_to(int value, int most) { return value > 0 && value <= most && std::has_single_bit(static_cast<unsigned>(value)); }

/// The first group is the kernel's own; the rest leaves out what cannot be fast.
constexpr std::array rules = {
    Rule{"threads_per_strip is a power of two of at most 1024",
         [](const SoftmaxSubject&, const SplitSoftmaxConfig& c) { return !is_power_of_two_up_to(c.threads_per_strip, 1024); }},
    Rule{"a block has 1 to 32 whole warps",
         [](const SoftmaxSubject&, const SplitSoftmaxConfig& c) {
           return c.strips_per_block < 1 || c.strips_per_block > 1024 || threads(c) % 32 != 0 || threads(c) > 1024;
         }},
    Rule{"vector is a power of two that alignment and strides allow",
         [](const SoftmaxSubject& s, const SplitSoftmaxConfig& c) { return !is_power_of_two_up_to(c.vector, s.traits.widest_vector); }},
    Rule{"held_vectors is 1 to 32", [](const SoftmaxSubject&, const SplitSoftmaxConfig& c) { return c.held_vectors < 1 || c.held_vectors > 32; }},
    Rule{"strip_entries is 1 to 65536",
         [](const SoftmaxSubject&, const SplitSoftmaxConfig& c) { return c.strip_entries < 1 || c.strip_entries > 65536; }},
    Rule{"the entries held do not fit a thread's registers",
         [](const SoftmaxSubject& s, const SplitSoftmaxConfig& c) {
           return softmax_registers_needed(s.traits, c.vector, c.held_vectors) > std::min<std::int64_t>(96, softmax_register_limit(threads(c)));
         }},
    Rule{"half of a strip's threads or more would find nothing in it",
         [](const SoftmaxSubject&, const SplitSoftmaxConfig& c) { return c.threads_per_strip * c.vector >= 2 * c.strip_entries; }},
};

SplitSoftmaxConfig with_strip(SplitSoftmaxConfig config, int strip_entries, int threads_per_strip) {
  config.strip_entries = strip_entries;
  config.threads_per_strip = threads_per_strip;
  config.strips_per_block = std::max(1, 128 / threads_per_strip);
  return config;
}

void add_new(std::vector<SplitSoftmaxConfig>& list, const SplitSoftmaxConfig& config) {
  if (std::find(list.begin(), list.end(), config) == list.end()) list.push_back(config);
}

}  // namespace

std::optional<std::string> forbidden(const SoftmaxSubject& subject, const SplitSoftmaxConfig& config) {
  for (const Rule& rule : rules)
    if (rule.breaks(subject, config)) return rule.reason;
  return std::nullopt;
}

SplitSoftmaxConfig default_config(const SoftmaxSubject& subject) {
  SplitSoftmaxConfig config{.vector = subject.traits.widest_vector, .held_vectors = subject.traits.widest_vector > 4 ? 2 : 4};
  // Shorter strips where long ones would leave multiprocessors idle.
  const std::int64_t entries = subject.statistics().nonzeros * std::min<std::int64_t>(subject.batch, 1024);
  const auto multiprocessors = static_cast<std::int64_t>(softmax_machine(subject.query).multiprocessors);
  const bool few = entries < 4 * multiprocessors * 4096;
  return few ? with_strip(config, 1024, 128) : with_strip(config, 4096, 256);
}

std::vector<SplitSoftmaxConfig> space(const SoftmaxSubject& subject) {
  std::vector<SplitSoftmaxConfig> list = {default_config(subject)};
  for (const int strip_entries : {512, 1024, 2048, 4096})
    for (const int threads_per_strip : {32, 64, 128, 256, 512})
      for (int vector = 1; vector <= subject.traits.widest_vector; vector *= 2)
        for (const int held_vectors : {1, 2, 4, 8})
          add_new(list, with_strip({.vector = vector, .held_vectors = held_vectors}, strip_entries, threads_per_strip));
  return list;
}

std::vector<SplitSoftmaxConfig> short_list(const SoftmaxSubject& subject) {
  const SplitSoftmaxConfig base = default_config(subject);
  std::vector<SplitSoftmaxConfig> list = {base};
  for (const auto& [strip_entries, threads_per_strip] :
       {std::pair{512, 64}, {512, 128}, {1024, 64}, {1024, 128}, {1024, 256}, {2048, 128}, {2048, 256}, {4096, 256}, {4096, 512}})
    add_new(list, with_strip(base, strip_entries, threads_per_strip));
  return list;
}

double predict_us(const SoftmaxSubject& subject, const SplitSoftmaxConfig& config) {
  constexpr double launch_us = 1.8;
  constexpr double chunk_us = 0.7;
  const TopologyStatistics& s = subject.statistics();
  const SoftmaxMachine machine = softmax_machine(subject.query);
  const bool sums = subject.traits.statistics != RowStatistics::read;
  const auto strips = static_cast<double>(strip_room(s, config.strip_entries)) * static_cast<double>(subject.batch);
  const double resident = machine.multiprocessors * machine.threads_per_multiprocessor / config.threads_per_strip;
  const double chunks = std::ceil((config.strip_entries + config.vector) / (1.0 * config.threads_per_strip * config.vector * config.held_vectors));
  const double mean_strip = std::min(1.0, static_cast<double>(s.nonzeros) * static_cast<double>(subject.batch) / (strips * config.strip_entries));
  const double waves = std::max(1.0, strips / resident);
  const double pass_us = chunk_us * (1 + waves * std::max(1.0, chunks * mean_strip));
  return (sums ? 2 : 1) * (launch_us + pass_us) + softmax_bytes_us(subject, machine, sums ? 2 : 1);
}

}  // namespace vostok::ops::split_softmax
