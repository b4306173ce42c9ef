// sum_parts, the second step of an SDDMM whose sums over n were computed in parts: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

struct SumPartsTraits {
  Dtype element = Dtype::f32;
  Dtype output = Dtype::f32;
  Scale scale = Scale::one;
  bool multiply = false;
  bool accumulate = false;
};

struct SumPartsConfig {
  int threads = 256;
};

struct SumPartsArgs {
  const float* partial;    ///< [batch, parts, nonzeros]
  void* output;            ///< D's nonzeros
  const void* multiplier;  ///< C's nonzeros; read only where the traits multiply
  const float* device_scale;
  long long nonzeros;
  long long output_stride;
  long long multiplier_stride;
  long long batch;
  int parts;
  float scale;
};

template <FieldsOf<SumPartsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("scale", traits.scale);
  visit("multiply", traits.multiply);
  visit("accumulate", traits.accumulate);
}

template <FieldsOf<SumPartsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

}  // namespace vostok
