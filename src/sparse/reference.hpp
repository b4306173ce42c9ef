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

/// scale * c + bias -> activation, in place (bias may be empty).
void apply_epilogue(std::span<double> c, std::int64_t m, std::int64_t n, const Epilogue& epilogue, double scale, std::span<const float> bias);

/// ||y - r|| / ||r||, and ||y|| where r is zero; infinity where y holds a NaN that r does not. `y` with leading dimension.
double relative_error(std::span<const float> y, std::int64_t leading, std::span<const double> r, std::int64_t m, std::int64_t n);

/// The tolerance that an fp32 SpMM is held to: 4e-8 * sqrt(longest row) + 1e-7.
double spmm_tolerance(std::int64_t longest_row);

}  // namespace vostok::sparse
