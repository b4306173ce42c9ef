// Sparse strips (abi/sparse_strips.h) on the host: what devices' are compared with, and what reads them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <vostok/enums.hpp>

#include <abi/sparse_strips.h>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// The structure's part: SparseStructure in vectors.
struct SparseForm {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_strips = 0;
  std::int64_t k_blocks = 0;
  std::vector<std::uint32_t> groups = {};
  std::vector<std::uint32_t> headers = {};
  std::vector<std::uint32_t> nonzero_offsets = {};
  std::vector<std::uint32_t> unit_offsets = {};
  std::vector<std::int32_t> sources = {};

  std::int64_t strips() const { return row_strips * k_blocks; }
};

/// The strips of a valid matrix as kernels walk it. Where that is A^T, `value_positions` says where each of its
/// nonzeros lies in A. Errors: unsupported (a row names a column twice, 2^31 nonzeros and more).
SparseForm sparse_form(const Csr& walked, std::span<const std::int32_t> value_positions = {});

/// One set of packed values: PackedStrips::data in words. `values`: 16-bit numbers in CSR order of A.
std::vector<std::uint32_t> pack(const SparseForm& form, std::span<const std::byte> values);

/// The 16 bits of each element of the dense matrix [rows, cols] that the packed one stands for, zero where it takes
/// none; reads nothing but the offsets of the form. Errors: internal (metadata that names no two places in order, or a
/// value past the matrix).
std::vector<std::uint16_t> unpack(const SparseForm& form, std::span<const std::uint32_t> packed);

}  // namespace vostok::sparse
