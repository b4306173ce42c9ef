// The toy family of tests/device/toy_family_test.cpp: what its host side and its kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/rules.h"

namespace vostok {

/// What the problem fixes.
struct ToyTraits {
  Dtype element = Dtype::f32;
  Bias bias = Bias::per_row;
  Activation activation = Activation::relu;

  friend constexpr bool operator==(const ToyTraits&, const ToyTraits&) = default;
};

/// The tunables.
struct ToyConfig {
  int block_threads = 128;
  int elements_per_thread = 1;

  friend constexpr bool operator==(const ToyConfig&, const ToyConfig&) = default;
};

struct ToyArgs {
  const void* input;
  const void* bias;
  void* output;
  long long elements;
  long long rows;
  long long columns;
};

template <FieldsOf<ToyTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
}

template <FieldsOf<ToyConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("block_threads", config.block_threads);
  visit("elements_per_thread", config.elements_per_thread);
}

constexpr void kernel_rules(RuleCheck& rule, const ToyTraits&, const ToyConfig& c) {
  rule("block_threads is a multiple of 32 up to 1024",
       [&] { return c.block_threads % 32 == 0 && within(c.block_threads, 32, 1024); });
  rule("elements_per_thread is 1 to 8", [&] { return within(c.elements_per_thread, 1, 8); });
}

}  // namespace vostok
