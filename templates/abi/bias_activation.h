// bias_activation: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/stream.h"

namespace vostok {

/// What the problem fixes.
struct BiasActivationTraits {
  Dtype element = Dtype::f32;
  Bias bias = Bias::per_row;
  Activation activation = Activation::relu;
  int widest_vector = 1;            ///< elements whose bytes divide the operands' alignment
  bool wide_indices = false;        ///< there are 2^31 elements and more
  Dtype bias_element = Dtype::f32;  ///< of the bias

  friend constexpr bool operator==(const BiasActivationTraits&, const BiasActivationTraits&) = default;
};

/// The tunables.
struct BiasActivationConfig {
  int vector = 1;              ///< elements per load and store
  int vectors_per_thread = 2;  ///< a block's width apart
  int block_threads = 256;

  friend constexpr bool operator==(const BiasActivationConfig&, const BiasActivationConfig&) = default;
};

struct BiasActivationArgs {
  const void* input;
  const void* bias;
  void* output;
  long long elements;
  long long rows;
  long long columns;
};

template <FieldsOf<BiasActivationTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("widest_vector", traits.widest_vector);
  visit("wide_indices", traits.wide_indices);
  visit("bias_element", traits.bias_element);
}

template <FieldsOf<BiasActivationConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("vector", config.vector);
  visit("vectors_per_thread", config.vectors_per_thread);
  visit("block_threads", config.block_threads);
}

constexpr void kernel_rules(RuleCheck& rule, const BiasActivationTraits& t, const BiasActivationConfig& c) {
  stream_rules(rule, t, c);
}

}  // namespace vostok
