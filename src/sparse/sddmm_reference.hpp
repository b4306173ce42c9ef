// The float64 reference of SDDMM and the tolerance that it is compared with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vostok/enums.hpp>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// A dense matrix in any layout: element (i, j) is data[i * row_step + j * column_step].
struct DenseView {
  const float* data = nullptr;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;

  double at(std::int64_t row, std::int64_t column) const { return data[row * row_step + column * column_step]; }
};

/// For each of `entries` (positions in the mask's CSR order, ascending), the product of its row of A and its row of B over n,
/// in float64 on all cores.
std::vector<double> sddmm(const Csr& mask, std::span<const std::int64_t> entries, const DenseView& lhs, const DenseView& rhs, std::int64_t n);

/// The normwise error that an SDDMM over n is held to: 4e-8 * sqrt(n) + 1e-7 for its sums in f32, and the output's own rounding.
double sddmm_tolerance(std::int64_t n, Dtype output);

}  // namespace vostok::sparse
