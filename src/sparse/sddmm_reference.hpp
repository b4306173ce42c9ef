// The float64 reference of SDDMM.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// A dense matrix in any layout: element (i, j) is data[i * row_step + j * column_step].
struct DenseView {
  const float* data = nullptr;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;

  double at(std::int64_t row, std::int64_t column) const { return data[row * row_step + column * column_step]; }
};

/// For each of `entries` (positions in the mask's CSR order, ascending), the product of its row of A and its row of B
/// over n, in float64 on all cores.
std::vector<double> sddmm(const Csr& mask, std::span<const std::int64_t> entries, const DenseView& lhs,
                          const DenseView& rhs, std::int64_t n);

}  // namespace vostok::sparse
