#include "sparse/softmax_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sparse/elements.hpp"

namespace vostok::sparse {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// scale * x, with the limit from above for a scale of 0: -infinity stays what it is.
double scaled(double scale, float x) {
  return scale == 0 && x < 0 && std::isinf(x) ? -infinity : scale * static_cast<double>(x);
}

/// A row's sum of exp(scale * x) as sum * exp(maximum); the sum is NaN where an entry is NaN or scales to +infinity.
struct RowSum {
  double maximum = -infinity;
  double sum = 0;

  double logarithm() const { return sum == 0 ? -infinity : maximum + std::log(sum); }
};

RowSum sum_of_row(std::span<const float> x, double scale) {
  RowSum row;
  for (const float value : x) {
    const double z = scaled(scale, value);
    if (std::isnan(z) || z == infinity) return {.maximum = 0, .sum = std::numeric_limits<double>::quiet_NaN()};
    row.maximum = std::max(row.maximum, z);
  }
  if (row.maximum == -infinity) return row;
  for (const float value : x) row.sum += std::exp(scaled(scale, value) - row.maximum);
  return row;
}

template <class T>
std::span<const T> row_of(std::span<const std::int64_t> row_offsets, std::size_t row, std::span<const T> values) {
  return values.subspan(static_cast<std::size_t>(row_offsets[row]),
                        static_cast<std::size_t>(row_offsets[row + 1] - row_offsets[row]));
}

double norm_of_finite(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values)
    if (std::isfinite(value)) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

std::vector<double> log_sum_exp(std::span<const std::int64_t> row_offsets, std::span<const float> x, double scale) {
  std::vector<double> logarithms;
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row)
    logarithms.push_back(sum_of_row(row_of(row_offsets, row, x), scale).logarithm());
  return logarithms;
}

SoftmaxReference softmax(std::span<const std::int64_t> row_offsets, std::span<const float> x, double scale) {
  SoftmaxReference reference;
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    const std::span<const float> entries = row_of(row_offsets, row, x);
    const auto [maximum, sum] = sum_of_row(entries, scale);
    for (const float value : entries)
      reference.values.push_back(sum == 0 ? 0 : std::exp(scaled(scale, value) - maximum) / sum);
  }
  reference.magnitudes = reference.values;
  return reference;
}

SoftmaxReference softmax_from_statistics(std::span<const std::int64_t> row_offsets, std::span<const float> x,
                                         double scale, std::span<const float> logarithms) {
  SoftmaxReference reference;
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row)
    for (const float value : row_of(row_offsets, row, x)) {
      const auto logarithm = static_cast<double>(logarithms[row]);
      const double z = scaled(scale, value);
      reference.values.push_back(logarithm == -infinity ? 0 : std::exp(z - logarithm));
      reference.magnitudes.push_back(reference.values.back() * (1 + (std::abs(z) + std::abs(logarithm)) / 4));
    }
  return reference;
}

SoftmaxReference softmax_backward(std::span<const std::int64_t> row_offsets, std::span<const float> y,
                                  std::span<const float> dy, double scale) {
  SoftmaxReference reference;
  for (std::size_t row = 0; row + 1 < row_offsets.size(); ++row) {
    const std::span<const float> probabilities = row_of(row_offsets, row, y);
    const std::span<const float> gradients = row_of(row_offsets, row, dy);
    double sum = 0;
    double magnitude = 0;
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      const double product = static_cast<double>(probabilities[i]) * static_cast<double>(gradients[i]);
      sum += product;
      magnitude += std::abs(product);
    }
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      const double factor = scale * static_cast<double>(probabilities[i]);
      reference.values.push_back(factor * (static_cast<double>(gradients[i]) - sum));
      reference.magnitudes.push_back(std::abs(factor) * (std::abs(static_cast<double>(gradients[i])) + magnitude));
    }
  }
  return reference;
}

double softmax_tolerance(const SoftmaxReference& reference, Dtype output) {
  const double norm = norm_of_finite(reference.values);
  const double smallest_half_step = output == Dtype::f16 ? 0x1p-25 : 0;
  const double allowed = 5e-7 * norm_of_finite(reference.magnitudes) +
                         (output == Dtype::f32 ? 0 : unit_roundoff(output)) * norm +
                         smallest_half_step * std::sqrt(static_cast<double>(reference.values.size()));
  return norm == 0 ? allowed : allowed / norm;
}

}  // namespace vostok::sparse
