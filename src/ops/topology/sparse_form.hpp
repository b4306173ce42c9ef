// The structure of sparse strips in device memory, made from CSR: sparse::sparse_form, bit for bit. Everything is
// queued; nothing waits.
#pragma once

#include <cstdint>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// A matrix as kernels walk it: 32-bit offsets, no column twice in a row.
struct SparseFormSource {
  CsrArrays csr = {};
  const std::int32_t* value_positions = nullptr;  ///< place of each value in A, if the matrix is A^T
};

/// The output arrays.
struct SparseFormParts {
  std::uint32_t* groups = nullptr;           ///< 32 for each strip
  std::uint32_t* headers = nullptr;          ///< one for each
  std::uint32_t* nonzero_offsets = nullptr;  ///< strips + 1
  std::uint32_t* unit_offsets = nullptr;     ///< strips + 1
  std::int32_t* sources = nullptr;           ///< one for each nonzero
};

void make_sparse_form(const Queue& queue, const SparseFormSource& source, const SparseFormParts& parts);

}  // namespace vostok::ops
