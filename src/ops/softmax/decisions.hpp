// Shared rules and spaces of the softmax families, and the parts of a family of either direction.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ops/family.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/softmax/subject.hpp"

namespace vostok::ops {

/// Registers of a thread for the entries that it holds, plus a few.
template <class Config>
int softmax_registers(const SoftmaxSubject& subject, const Config& config) {
  return config.vector * config.held_vectors * (subject.traits.backward ? 2 : 1) + 32;
}

template <class Config>
using SoftmaxCase = Case<SoftmaxSubject, SoftmaxTraits, Config>;

template <class Config>
using SoftmaxRule = Rule<SoftmaxCase<Config>>;

/// Each entry held takes one register forward and two backward. Above 96, lost occupancy costs more than loads in
/// flight gain.
template <class Config>
inline constexpr std::array softmax_rules = {
    SoftmaxRule<Config>{"the entries held do not fit a thread's registers",
                        [](const SoftmaxCase<Config>& c) {
                          return softmax_registers(c.query, c.config) >
                                 std::min(96, multiprocessor_registers() / threads(c.config));
                        }},
};

/// The parts of a family of either direction that `Decisions` has of a SoftmaxSubject: forbidden, default_config,
/// space, short_list and predict_us.
template <class QueryType, class ConfigType, class Decisions>
struct SoftmaxFamily {
  using Query = QueryType;
  using Config = ConfigType;
  using Call = typename decltype(QueryType::problem)::Arguments;

  static Config default_config(const Query& query) { return Decisions::default_config(softmax_subject(query)); }
  static std::vector<Config> space(const Query& query) { return Decisions::space(softmax_subject(query)); }
  static std::vector<Config> short_list(const Query& query) { return Decisions::short_list(softmax_subject(query)); }
  static std::optional<std::string> forbidden(const Query& query, const Config& config) {
    return Decisions::forbidden(softmax_subject(query), config);
  }
  static double predict_us(const Query& query, const Config& config) {
    return Decisions::predict_us(softmax_subject(query), config);
  }
};

}  // namespace vostok::ops
