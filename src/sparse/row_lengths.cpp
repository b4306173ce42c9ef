#include "sparse/row_lengths.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vostok::sparse {
namespace {

using Lengths = std::vector<std::int64_t>;

constexpr int bisections = 50;

/// scale * weight for every row, rounded and kept in [0, cols].
Lengths scaled(const std::vector<double>& weights, double scale, std::int64_t cols) {
  Lengths lengths(weights.size());
  const auto most = static_cast<double>(cols);
  for (std::size_t row = 0; row < weights.size(); ++row)
    lengths[row] = static_cast<std::int64_t>(std::min(scale * weights[row] + 0.5, most));
  return lengths;
}

std::int64_t sum(const Lengths& lengths) { return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}); }

/// The lengths proportional to the weights whose sum is the largest that does not pass `total`.
Lengths scaled_to_total(const std::vector<double>& weights, std::int64_t cols, std::int64_t total) {
  const double heaviest = *std::max_element(weights.begin(), weights.end());
  if (heaviest <= 0) return Lengths(weights.size(), 0);
  double low = 0;
  double high = 1;
  while (sum(scaled(weights, high, cols)) <= total && high * heaviest < 0x1p60) high *= 2;
  for (int i = 0; i < bisections; ++i) {
    const double middle = (low + high) / 2;
    (sum(scaled(weights, middle, cols)) <= total ? low : high) = middle;
  }
  return scaled(weights, low, cols);
}

double variation_of(const Lengths& lengths) {
  const double mean = static_cast<double>(sum(lengths)) / static_cast<double>(lengths.size());
  if (mean == 0) return 0;
  double squares = 0;
  for (const std::int64_t length : lengths)
    squares += (static_cast<double>(length) - mean) * (static_cast<double>(length) - mean);
  return std::sqrt(squares / static_cast<double>(lengths.size())) / mean;
}

/// Adds the missing nonzeros one to a row, again and again, to rows that have room.
void top_up(Lengths& lengths, std::int64_t cols, std::int64_t total) {
  std::int64_t missing = total - sum(lengths);
  while (missing > 0) {
    for (std::size_t row = 0; row < lengths.size() && missing > 0; ++row) {
      if (lengths[row] == cols) continue;
      ++lengths[row];
      --missing;
    }
  }
}

template <class Element>
void shuffle(std::vector<Element>& elements, Random& random) {
  for (std::size_t i = elements.size(); i > 1; --i)
    std::swap(elements[i - 1], elements[random.below(static_cast<std::int64_t>(i))]);
}

/// Gamma-like weights of mean 1 and about that variation, from normal ones (Wilson and Hilferty's cube, PNAS 1931).
std::vector<double> gamma_weights(const std::vector<double>& normals, double variation) {
  std::vector<double> weights(normals.size());
  for (std::size_t i = 0; i < normals.size(); ++i) {
    const double root = std::max(0.0, 1 - variation * variation / 9 + variation / 3 * normals[i]);
    weights[i] = root * root * root;
  }
  return weights;
}

/// The shape parameter whose lengths, after rounding and clamping, vary as wanted.
double shape_for(const std::vector<double>& normals, std::int64_t cols, double mean, double variation) {
  const auto total = static_cast<std::int64_t>(mean * static_cast<double>(normals.size()) + 0.5);
  double low = 0;
  double high = 8;  // only the upper tail of the normal is above zero: nearly every row is empty or full
  for (int i = 0; i < bisections / 2; ++i) {
    const double middle = (low + high) / 2;
    const Lengths lengths = scaled_to_total(gamma_weights(normals, middle), cols, total);
    const bool reached = sum(lengths) >= total - total / 64;  // else the rows that are left cannot hold the nonzeros
    (reached && variation_of(lengths) <= variation ? low : high) = middle;
  }
  return low;
}

/// base^-exponent by square roots and products alone, which every machine rounds alike (std::pow differs). exponent >=
/// 0.
double inverse_power(double base, double exponent) {
  double result = 1;
  for (double whole = std::floor(exponent); whole > 0 && result < 0x1p200; --whole) result *= base;
  double fraction = exponent - std::floor(exponent);
  for (double root = std::sqrt(base); fraction > 0x1p-30; root = std::sqrt(root)) {
    fraction *= 2;
    if (fraction < 1) continue;
    fraction -= 1;
    result *= root;
  }
  return 1 / result;
}

}  // namespace

std::vector<std::int64_t> equal_lengths(std::int64_t rows, std::int64_t total) {
  Lengths lengths(static_cast<std::size_t>(rows));
  const std::int64_t rest = rows == 0 ? 0 : total % rows;  // rows with one more, spread evenly
  for (std::int64_t row = 0; row < rows; ++row) {
    lengths[row] = total / rows + (row + 1) * rest / rows - row * rest / rows;
  }
  return lengths;
}

std::vector<std::int64_t> varied_lengths(std::int64_t rows, std::int64_t cols, std::int64_t total, double variation,
                                         Random& random) {
  // The shape is found on at most so many sample rows; the others repeat their normals, in random places.
  constexpr std::int64_t most_samples = 4096;
  std::vector<double> sample(static_cast<std::size_t>(std::min(rows, most_samples)));
  for (double& normal : sample) normal = random.normal();
  const double shape = shape_for(sample, cols, static_cast<double>(total) / static_cast<double>(rows), variation);

  std::vector<double> normals(static_cast<std::size_t>(rows));
  for (std::size_t row = 0; row < normals.size(); ++row) normals[row] = sample[row % sample.size()];
  shuffle(normals, random);
  Lengths lengths = scaled_to_total(gamma_weights(normals, shape), cols, total);
  top_up(lengths, cols, total);
  return lengths;
}

std::vector<std::int64_t> power_law_lengths(std::int64_t rows, std::int64_t cols, std::int64_t total, double exponent,
                                            Random& random) {
  std::vector<double> weights(static_cast<std::size_t>(rows));
  for (std::size_t rank = 0; rank < weights.size(); ++rank)
    weights[rank] = inverse_power(static_cast<double>(rank + 1), exponent);
  Lengths lengths = scaled_to_total(weights, cols, total);
  top_up(lengths, cols, total);
  shuffle(lengths, random);
  return lengths;
}

}  // namespace vostok::sparse
