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

/// What a block that scales rows keeps in shared memory: the largest magnitudes of its rows, then their scales, and the rows of a strip's
/// pairs for each warp.
template <int threads>
struct PackStripsShared {
  unsigned largest[packed_strip_rows];
  float scales[packed_strip_rows];
  unsigned char pair_rows[threads / packed_lanes][packed_most_pairs];
};

constexpr int shared_bytes(const PackStripsTraits& traits, const PackStripsConfig& config) {
  return packed_scales_rows(traits.mode) ? 8 * packed_strip_rows + config.threads / packed_lanes * packed_most_pairs : 0;
}

}  // namespace vostok
