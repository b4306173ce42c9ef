// pack_strips, values into packed strips: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"

namespace vostok {

struct PackStripsTraits {
  PackedMode mode = PackedMode::f16x1;
  Dtype element = Dtype::f16;  ///< of the values
};

struct PackStripsConfig {
  int threads = 256;
};

struct PackStripsArgs {
  PackedStructure structure;
  const void* values;      ///< CSR order of A
  unsigned char* data;     ///< of the first set
  float* row_scales;       ///< likewise, where the mode scales rows
  long long value_stride;  ///< elements between two sets
  long long set_bytes;     ///< the same of what is packed
  unsigned sets;
  unsigned splits;  ///< blocks that share the strips of a row strip
};

template <FieldsOf<PackStripsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("mode", traits.mode);
  visit("element", traits.element);
}

template <FieldsOf<PackStripsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

/// Shared memory of a block: a strip for each warp as it will lie, and the rows' scales.
template <PackedMode mode, int threads>
struct PackStripsShared {
  alignas(packed_unit_bytes) unsigned strips[threads / packed_lanes][packed_lanes + packed_most_pairs * packed_pair_words(mode)];
  float scales[packed_strip_rows];
};

constexpr int shared_bytes(const PackStripsTraits& traits, const PackStripsConfig& config) {
  return config.threads / packed_lanes * 4 * (packed_lanes + packed_most_pairs * packed_pair_words(traits.mode)) + 4 * packed_strip_rows;
}

}  // namespace vostok
