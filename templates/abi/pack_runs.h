// pack_runs, values into packed runs: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_runs.h"

namespace vostok {

struct PackRunsTraits {
  Dtype element = Dtype::f16;
  int gap_bits = 4;
};

struct PackRunsConfig {
  int threads = 256;
};

struct PackRunsArgs {
  PackedRuns runs;
  const void* values;      ///< CSR order of A
  unsigned char* packed;   ///< of the first set
  long long value_stride;  ///< elements between two sets
  long long set_bytes;     ///< the same of what is packed
  long long pieces;        ///< 16-byte pieces of a set
  unsigned sets;
};

template <FieldsOf<PackRunsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("gap_bits", traits.gap_bits);
}

template <FieldsOf<PackRunsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

}  // namespace vostok
