// Shared rules and spaces of the softmax families, and the adapter that makes a family of either direction.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "ops/family.hpp"
#include "ops/softmax/subject.hpp"

namespace vostok::ops {

/// Registers of a thread for the entries that it holds, plus a few.
template <class Config>
int softmax_registers(const SoftmaxSubject& subject, const Config& config) {
  return config.vector * config.held_vectors * (subject.traits.backward ? 2 : 1) + 32;
}

/// Why no kernel of these families can run the config, or why it cannot be fast; nothing if one can.
template <class Config>
std::optional<std::string> softmax_forbidden(const SoftmaxSubject& subject, const Config& config) {
  const auto is_power_of_two_up_to = [](int value, int most) {
    return value > 0 && value <= most && std::has_single_bit(static_cast<unsigned>(value));
  };
  if (!is_power_of_two_up_to(team_threads(config), 1024)) return "the threads of a row or strip are a power of two of at most 1024";
  if (const int count = threads(config); count < 32 || count > 1024 || count % 32 != 0) return "a block has 1 to 32 whole warps";
  if (!is_power_of_two_up_to(config.vector, subject.traits.widest_vector)) return "vector is a power of two that alignment and strides allow";
  if (config.held_vectors < 1 || config.held_vectors > 32) return "held_vectors is 1 to 32";
  // Each entry held takes one register forward and two backward. Above 96, lost occupancy costs more than loads in flight gain.
  if (softmax_registers(subject, config) > std::min(96, 64 * 1024 / threads(config))) return "the entries held do not fit a thread's registers";
  return std::nullopt;
}

/// `Decisions` has forbidden, default_config, space, short_list and predict_us of a SoftmaxSubject.
template <class QueryType, class Config, class Decisions>
class SoftmaxFamily : public FamilyOf<QueryType, Config> {
 protected:
  using Call = typename decltype(QueryType::problem)::Arguments;

  Config default_config(const QueryType& query) const final { return Decisions::default_config(softmax_subject(query)); }
  std::vector<Config> space(const QueryType& query) const final { return Decisions::space(softmax_subject(query)); }
  std::vector<Config> short_list(const QueryType& query) const final { return Decisions::short_list(softmax_subject(query)); }
  std::optional<std::string> forbidden(const QueryType& query, const Config& config) const final {
    return Decisions::forbidden(softmax_subject(query), config);
  }
  double predict_us(const QueryType& query, const Config& config) const final { return Decisions::predict_us(softmax_subject(query), config); }
};

}  // namespace vostok::ops
