// Shared rules and spaces of the softmax families, and the adapter that makes a family of either direction.
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

/// `Decisions` has forbidden, default_config, space, short_list and predict_us of a SoftmaxSubject.
template <class QueryType, class Config, class Decisions>
class SoftmaxFamily : public FamilyOf<QueryType, Config> {
 protected:
  using Call = typename decltype(QueryType::problem)::Arguments;

  Config default_config(const QueryType& query) const final {
    return Decisions::default_config(softmax_subject(query));
  }
  std::vector<Config> space(const QueryType& query) const final { return Decisions::space(softmax_subject(query)); }
  std::vector<Config> short_list(const QueryType& query) const final {
    return Decisions::short_list(softmax_subject(query));
  }
  std::optional<std::string> forbidden(const QueryType& query, const Config& config) const final {
    return Decisions::forbidden(softmax_subject(query), config);
  }
  double predict_us(const QueryType& query, const Config& config) const final {
    return Decisions::predict_us(softmax_subject(query), config);
  }
};

}  // namespace vostok::ops
