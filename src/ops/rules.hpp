// What forbids a config: first the rules of its kernel, which stand beside the config (abi/rules.h), then its family's.
// These are about what only the problem or the device knows, or they exclude what cannot be fast.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <abi/rules.h>

namespace vostok::ops {

/// What rules look at.
template <class Query, class Traits, class Config>
struct Case {
  const Query& query;
  Traits traits;
  const Config& config;
};

/// One rule: a sentence, and whether a case breaks it.
template <class Case>
struct Rule {
  const char* reason;
  bool (*breaks)(const Case&);
};

/// The reason of the first rule of these lists that the case breaks; null if it breaks none. Each may rely on those
/// before it.
template <class Case, class... Lists>
const char* first_broken(const Case& c, const Lists&... lists) {
  const char* reason = nullptr;
  const auto search = [&](const auto& list) {
    const auto broken = std::find_if(list.begin(), list.end(), [&](const Rule<Case>& rule) { return rule.breaks(c); });
    if (broken != list.end()) reason = broken->reason;
    return reason != nullptr;
  };
  (search(lists) || ...);
  return reason;
}

/// The same of the kernel's rules, and then of the family's.
template <class Case, class... Lists>
const char* reason_against(const Case& c, const Lists&... lists) {
  const char* const reason = broken_rule(c.traits, c.config);
  return reason != nullptr ? reason : first_broken(c, lists...);
}

/// What families answer.
inline std::optional<std::string> to_reason(const char* reason) {
  return reason == nullptr ? std::nullopt : std::optional<std::string>(reason);
}

}  // namespace vostok::ops
