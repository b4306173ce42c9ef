// pack_values, the values of A^T in its own order: what host and kernel share.
#pragma once

#include "abi/fields.h"

namespace vostok {

struct PackValuesTraits {
  int element_bytes = 4;  ///< 2 or 4: values are moved as bits
};

struct PackValuesConfig {
  int threads = 256;
};

struct PackValuesArgs {
  const void* values;    ///< CSR order of A
  const int* positions;  ///< where each value of A^T lies among them
  void* packed;          ///< CSR order of A^T
  long long nonzeros;
  long long value_stride;   ///< elements between two of the batch
  long long packed_stride;  ///< the same of the packed ones
  long long batch;
};

template <FieldsOf<PackValuesTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element_bytes", traits.element_bytes);
}

template <FieldsOf<PackValuesConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

}  // namespace vostok
