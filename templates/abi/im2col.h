// im2col_gather: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/stream.h"

namespace vostok {

/// What the problem fixes.
struct Im2colTraits {
  Dtype element = Dtype::f32;
  int kernel_height = 3;
  int kernel_width = 3;
  int stride = 1;
  int widest_vector = 1;      ///< elements that divide a row of the output, and whose bytes divide its alignment
  bool wide_indices = false;  ///< the output has 2^31 elements and more

  friend constexpr bool operator==(const Im2colTraits&, const Im2colTraits&) = default;
};

/// The tunables.
struct Im2colConfig {
  int vector = 1;              ///< outputs per store
  int vectors_per_thread = 2;  ///< a block's width apart
  int block_threads = 256;

  friend constexpr bool operator==(const Im2colConfig&, const Im2colConfig&) = default;
};

struct Im2colArgs {
  const void* input;   ///< [planes, height, width]
  void* output;        ///< [planes * kernel_height * kernel_width, output_height * output_width]
  long long elements;  ///< of the output
  long long height;
  long long width;
  long long output_width;
  long long pixels;  ///< output_height * output_width
  long long top;
  long long left;
};

template <FieldsOf<Im2colTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("kernel_height", traits.kernel_height);
  visit("kernel_width", traits.kernel_width);
  visit("stride", traits.stride);
  visit("widest_vector", traits.widest_vector);
  visit("wide_indices", traits.wide_indices);
}

template <FieldsOf<Im2colConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("vector", config.vector);
  visit("vectors_per_thread", config.vectors_per_thread);
  visit("block_threads", config.block_threads);
}

constexpr void kernel_rules(RuleCheck& rule, const Im2colTraits& t, const Im2colConfig& c) {
  rule("the filter has at least one element, and the stride is at least 1",
       [&] { return t.kernel_height >= 1 && t.kernel_width >= 1 && t.stride >= 1; });
  stream_rules(rule, t, c);
}

}  // namespace vostok
