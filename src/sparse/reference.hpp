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
std::vector<double> spmm(const Csr& a, std::span<const float> values, std::span<const float> dense, std::int64_t n,
                         std::int64_t dense_leading);

/// What an epilogue adds, each where it asks for it.
struct EpilogueOperands {
  double scale = 1;                      ///< counts unless the epilogue's scale is `one`
  std::span<const float> bias = {};      ///< m or n values
  std::span<const float> residual = {};  ///< [m,n], packed
  std::span<const float> previous = {};  ///< the same, what the output held: accumulate
};

/// activation(scale * c + bias + residual + previous), in place; c is [m,n], packed. A NaN passes through every
/// activation. Errors: invalid_argument (an operand is too short).
void apply_epilogue(std::span<double> c, std::int64_t m, std::int64_t n, const Epilogue& epilogue,
                    const EpilogueOperands& operands);

/// ||y - r|| / ||r||, and ||y|| where r is zero. `y` with leading dimension, stored as `type`: what is too large for it
/// is rightly infinite, and half its smallest value is no difference. Elements that are NaN in both, or the same
/// infinity, are left out; one that is not finite in only one of them makes the error infinite.
double relative_error(std::span<const float> y, std::int64_t leading, std::span<const double> r, std::int64_t m,
                      std::int64_t n, Dtype type = Dtype::f32);

/// The tolerance of sums of up to `longest` products, accumulated in f32 and stored as `output`, from operands that are
/// exact in their types: 4e-8 * sqrt(longest) + 1e-7, and one rounding to the output where that is narrower (2^-11 for
/// f16, 2^-8 for bf16).
double sum_tolerance(std::int64_t longest, Dtype output = Dtype::f32);

/// The same of products of `element`s: under Math::tf32 each f32 may have been rounded to 11 bits first, which adds
/// 2^-10.
double product_tolerance(std::int64_t longest, Dtype element, Math math, Dtype output);

}  // namespace vostok::sparse
