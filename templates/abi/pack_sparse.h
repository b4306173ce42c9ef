// pack_sparse, 16-bit values into sparse strips: what host and kernel share.
#pragma once

#include "abi/fields.h"
#include "abi/sparse_strips.h"

namespace vostok {

struct PackSparseTraits {
  int element_bytes = 2;  ///< of the values: they are moved as they are
};

struct PackSparseConfig {
  int threads = 256;
};

struct PackSparseArgs {
  SparseStructure structure;
  const void* values;      ///< CSR order of A
  unsigned char* data;     ///< of the first set
  long long value_stride;  ///< elements between two sets
  long long set_bytes;     ///< the same of what is packed
  unsigned sets;
};

template <FieldsOf<PackSparseTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element_bytes", traits.element_bytes);
}

template <FieldsOf<PackSparseConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

/// Values of a strip at most.
consteval int sparse_strip_values() { return packed_strip_rows() * packed_strip_columns(); }

/// A warp's values of a strip, in the order of their sources.
template <int threads>
struct PackSparseShared {
  unsigned short values[threads / packed_lanes()][sparse_strip_values()];
};

constexpr int shared_bytes(const PackSparseTraits&, const PackSparseConfig& config) {
  return config.threads / packed_lanes() * sparse_strip_values() * 2;
}

}  // namespace vostok
