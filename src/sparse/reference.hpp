// float64 references and error measures.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vostok/problem.hpp>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// C[m,n] = A B in float64 on all cores, row-major, packed. `values` in CSR order; B row-major with leading dimension
/// `dense_leading`. Duplicate columns add up; elements that A lacks never touch B.
std::vector<double> spmm(const Csr& a, std::span<const float> values, std::span<const float> dense, std::int64_t n, std::int64_t dense_leading);

/// activation(scale * c + bias), in place; c is [m,n], packed. `scale` counts unless epilogue.scale is `one`; bias has m or n
/// values where the epilogue asks for it. A NaN passes through every activation. Errors: unsupported (residual, accumulate).
void apply_epilogue(std::span<double> c, std::int64_t m, std::int64_t n, const Epilogue& epilogue, double scale, std::span<const float> bias);

/// ||y - r|| / ||r||, and ||y|| where r is zero. `y` with leading dimension. Elements that are NaN in both, or the same
/// infinity, are left out; one that is not finite in only one of them makes the error infinite.
double relative_error(std::span<const float> y, std::int64_t leading, std::span<const double> r, std::int64_t m, std::int64_t n);

/// The tolerance that an fp32 SpMM is held to: 4e-8 * sqrt(longest row) + 1e-7.
double spmm_tolerance(std::int64_t longest_row);

}  // namespace vostok::sparse
