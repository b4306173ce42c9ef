// Packed strips (abi/packed_strips.h) on the host: what devices' are compared with, and what reads them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <vostok/enums.hpp>

#include <abi/packed_strips.h>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// The structure's part: PackedStructure in vectors.
struct PackedForm {
  PackedGrain grain = PackedGrain::pair;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_strips = 0;
  std::int64_t k_blocks = 0;
  std::vector<std::uint32_t> headers = {};
  std::vector<std::uint32_t> pair_offsets = {};
  std::vector<std::int32_t> sources =
      {};  ///< two for each pair: where its values lie in the CSR order of A; -1: there is none
  std::vector<std::int32_t> row_starts = {};
  std::vector<std::uint32_t> slot_offsets = {};
  std::vector<std::uint16_t> slots = {};
  std::vector<std::int32_t> value_places = {};  ///< empty where PackedStructure's is null
  std::vector<std::uint32_t> left_starts = {};  ///< likewise
  std::vector<std::uint32_t> left_places = {};
  std::vector<std::int32_t> left_sources = {};

  std::int64_t strips() const { return row_strips * k_blocks; }
  std::int32_t nonzeros() const { return row_starts.empty() ? 0 : row_starts.back(); }
  /// PackedStrips::offsets of pairs of so many words.
  std::vector<std::uint32_t> unit_offsets(int pair_words) const;
};

/// The strips of a valid matrix as kernels walk it. Where that is A^T, `value_positions` says where each of its
/// nonzeros lies in A. Errors: unsupported (a row names a column twice, 2^31 nonzeros and more).
PackedForm packed_form(const Csr& walked, std::span<const std::int32_t> value_positions = {},
                       PackedGrain grain = PackedGrain::pair);

/// One set of packed values.
struct PackedMatrix {
  PackedMode mode = PackedMode::f16x1;
  std::vector<std::uint32_t> data = {};   ///< PackedStrips::data, in words
  std::vector<float> row_scales = {};     ///< empty where the mode has none
  std::vector<LeftEntry> left_over = {};  ///< LeftOver::entries
  std::vector<std::int32_t> firsts = {};  ///< ExactValues of marked strips
  std::vector<float> exact = {};
};

/// `values`: in CSR order of A, as `element` is stored. `marked`: see abi/packed_strips.h.
PackedMatrix pack(const PackedForm& form, PackedMode mode, Dtype element, std::span<const std::byte> values,
                  bool marked = false);

/// The dense matrix [rows, cols] that the packed one stands for, exactly; reads nothing but the offsets of the form.
std::vector<double> unpack(const PackedForm& form, const PackedMatrix& packed);

}  // namespace vostok::sparse
