// The structure of packed strips in device memory, made from CSR: sparse::packed_form, bit for bit. Everything is
// queued, and nothing waits except for the number of nonzeros that grain four leaves over.
#pragma once

#include <cstdint>
#include <functional>

#include <abi/packed_strips.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// The left-over nonzeros of grain four.
struct LeftOverParts {
  std::uint32_t* places = nullptr;
  std::int32_t* sources = nullptr;
};

/// A matrix as kernels walk it: 32-bit offsets, no column twice in a row.
struct PackedFormSource {
  CsrArrays csr = {};
  const std::int32_t* value_positions = nullptr;  ///< place of each value in A, if the matrix is A^T
};

/// The output arrays, which become those of PackedStructure.
struct PackedFormParts {
  std::uint32_t* headers = nullptr;
  std::int32_t* row_starts = nullptr;
  std::uint32_t* slot_offsets = nullptr;
  std::uint16_t* slots = nullptr;
  std::int32_t* value_places = nullptr;  ///< null if columns ascend in every row and values lie in that order
  std::uint32_t* unit_offsets[2] = {};
  std::uint32_t* left_starts = nullptr;  ///< null if nothing is left over
  std::function<LeftOverParts(std::uint32_t)> left_over =
      {};  ///< allocates room for this many; called once, after a wait
};

void make_packed_form(const Queue& queue, const PackedFormSource& source, PackedGrain grain,
                      const PackedFormParts& parts);

}  // namespace vostok::ops
