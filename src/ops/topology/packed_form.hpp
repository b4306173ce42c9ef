// The structure of packed strips in device memory, made from CSR: sparse::packed_form, bit for bit. Everything is queued; nothing waits but for how
// many nonzeros grain four leaves over.
#pragma once

#include <cstdint>
#include <functional>

#include <abi/packed_strips.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// What is left over of grain four.
struct LeftOverParts {
  std::uint32_t* places = nullptr;
  std::int32_t* sources = nullptr;
};

/// A matrix as kernels walk it: 32-bit offsets, no column twice in a row.
struct PackedFormSource {
  CsrArrays csr = {};
  const std::int32_t* value_positions = nullptr;  ///< where each value lies in A, where the matrix is A^T
};

/// Where the parts are written: PackedStructure's.
struct PackedFormParts {
  std::uint32_t* headers = nullptr;
  std::int32_t* row_starts = nullptr;
  std::uint32_t* slot_offsets = nullptr;
  std::uint16_t* slots = nullptr;
  std::int32_t* value_places = nullptr;  ///< null where columns ascend in every row and values lie in that order
  std::uint32_t* unit_offsets[2] = {};
  std::uint32_t* left_starts = nullptr;                        ///< null where nothing is left over
  std::function<LeftOverParts(std::uint32_t)> left_over = {};  ///< makes room for so many: asked once, after a wait
};

void make_packed_form(const Queue& queue, const PackedFormSource& source, PackedGrain grain, const PackedFormParts& parts);

}  // namespace vostok::ops
