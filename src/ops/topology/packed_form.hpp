// The structure of packed strips in device memory, made from CSR: sparse::packed_form, bit for bit. Everything is queued; nothing waits.
#pragma once

#include <cstdint>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// A matrix as kernels walk it: 32-bit offsets, no column twice in a row.
struct PackedFormSource {
  CsrArrays csr = {};
  const std::int32_t* value_positions = nullptr;  ///< where each value lies in A, where the matrix is A^T
};

/// Where the parts are written that do not depend on the number of pairs.
struct PackedFormParts {
  std::uint32_t* headers = nullptr;       ///< 32 for each strip
  std::uint32_t* pair_offsets = nullptr;  ///< strips + 1
  std::uint32_t* unit_offsets[2] = {};    ///< strips + 1 each
};

void count_packed_pairs(const Queue& queue, const PackedFormSource& source, const PackedFormParts& parts);

/// `sources`: two for each pair, of which the last of pair_offsets tells the number.
void place_packed_sources(const Queue& queue, const PackedFormSource& source, const PackedFormParts& parts, std::int32_t* sources,
                          std::int64_t pairs);

}  // namespace vostok::ops
