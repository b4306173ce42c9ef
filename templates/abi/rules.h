// Each kernel states its rules once. It compiles for no config that breaks one, and the host refuses such a config with
// the same sentence.
//
// One function beside a config lists them, each a sentence and whether it holds:
//   constexpr void kernel_rules(RuleCheck& rule, const FooTraits& t, const FooConfig& c) {
//     rule("groups is 1, 2 or 4", [&] { return is_power_of_two(c.groups, 1, 4); });
//     rule("a stage belongs to one group", [&] { return c.stages % c.groups == 0; });
//   }
// A rule may rely on those before it, and on nothing else: users write configs, and their numbers may be any.
#pragma once

#include "abi/enums.h"

namespace vostok {

/// Finds the first rule that is broken, and asks none behind it.
struct RuleCheck {
  bool compiles = false;         ///< the rules are a kernel's own: a broken one ends its compilation
  const char* broken = nullptr;  ///< its sentence

  template <class Holds>
  constexpr void operator()(const char* sentence, const Holds& holds) {
    if (broken != nullptr || holds()) return;
    if (compiles) this_rule_is_broken();
    broken = sentence;
  }

 private:
  /// Is no constant expression, so that compilers show the line of the rule.
  static void this_rule_is_broken() {}
};

/// The sentence of the first rule that a config breaks; null if it keeps them all.
template <class Traits, class Config>
constexpr const char* broken_rule(const Traits& traits, const Config& config) {
  RuleCheck rule;
  kernel_rules(rule, traits, config);
  return rule.broken;
}

/// Each kernel asserts this of its `Fixed`.
template <class F>
consteval bool keeps_rules() {
  RuleCheck rule{.compiles = true};
  kernel_rules(rule, F::traits, F::config);
  return true;
}

constexpr bool within(int value, int least, int most) { return value >= least && value <= most; }

constexpr bool is_power_of_two(int value, int least, int most) {
  return within(value, least, most) && value > 0 && (value & (value - 1)) == 0;
}

/// Whether one load or store may take so many elements: a power of two of at most 16 bytes.
constexpr bool is_vector(int elements, Dtype type) { return is_power_of_two(elements, 1, 16 / size_of(type)); }

/// Whether a block may have so many threads: 1 to 32 whole warps.
constexpr bool is_block(int threads) { return within(threads, 32, 1024) && threads % 32 == 0; }

/// The same of teams of threads, whose product an int need not hold.
constexpr bool is_block(int teams, int team_threads) {
  return within(teams, 1, 1024) && within(team_threads, 1, 1024) && is_block(teams * team_threads);
}

}  // namespace vostok
