// Packed runs (abi/packed_runs.h) on the host: what devices' are compared with, and what reads them back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <vostok/enums.hpp>

#include <abi/packed_runs.h>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// The structure's part: PackedRuns in vectors, all but row_runs with room for whole groups.
struct RunForm {
  int gap_bits = 4;
  std::vector<std::uint32_t> row_runs = {0};
  std::vector<std::uint16_t> starts = {};
  std::vector<std::uint8_t> counts = {};
  std::vector<std::uint32_t> codes = {};
  std::vector<std::int32_t> firsts = {};
  std::vector<std::int32_t> positions = {};  ///< empty: A itself is walked

  std::int64_t runs() const { return row_runs.back(); }
  std::int64_t groups() const { return (runs() + group_runs() - 1) / group_runs(); }
};

/// The runs of a matrix as kernels walk it: rows sorted, no column twice, at most 65536 columns. Where that is A^T,
/// `value_positions` says where each of its nonzeros lies in A.
RunForm packed_runs(const Csr& walked, int gap_bits, std::span<const std::int32_t> value_positions = {});

/// One set of packed values. `values`: in CSR order of A, as `element` is stored.
std::vector<std::byte> pack(const RunForm& form, Dtype element, std::span<const std::byte> values);

/// The dense matrix [rows, cols] that the packed one stands for, exactly; reads neither firsts nor positions.
std::vector<double> unpack(const RunForm& form, std::int64_t cols, Dtype element, std::span<const std::byte> packed);

}  // namespace vostok::sparse
