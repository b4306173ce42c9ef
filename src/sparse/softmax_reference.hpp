// Sparse softmax and its gradient in float64, and what kernels are held to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vostok/enums.hpp>

namespace vostok::sparse {

struct SoftmaxReference {
  std::vector<double> values;      ///< of every entry
  std::vector<double> magnitudes;  ///< what rounding errors in `values` are proportional to
};

/// Logarithm of the sum of exp(scale * x) over each row; -infinity where there is nothing to add. A scale of 0 is the
/// limit from above: an entry of -infinity stays outside the sum.
std::vector<double> log_sum_exp(std::span<const std::int64_t> row_offsets, std::span<const float> x, double scale);

/// exp(scale * x) over its sum in the row; zeros where all of a row is -infinity.
SoftmaxReference softmax(std::span<const std::int64_t> row_offsets, std::span<const float> x, double scale);

/// The same from stored statistics, exp(scale * x - logarithm): exponents of the size of its terms were rounded to f32.
SoftmaxReference softmax_from_statistics(std::span<const std::int64_t> row_offsets, std::span<const float> x,
                                         double scale, std::span<const float> logarithms);

/// scale * y * (dy - sum over the row of y * dy).
SoftmaxReference softmax_backward(std::span<const std::int64_t> row_offsets, std::span<const float> y,
                                  std::span<const float> dy, double scale);

/// What relative_error may be: 5e-7 of the magnitudes, and one rounding to the output's type (below f16's normal range,
/// half a step of its smallest).
double softmax_tolerance(const SoftmaxReference& reference, Dtype output);

}  // namespace vostok::sparse
