// A sparse layer of a perceptron on the host, and its gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "sparse/csr.hpp"
#include "sparse/generate.hpp"

namespace vostok::models {

/// Weights at a mask [outputs, inputs], and a bias per row.
struct Layer {
  sparse::Csr mask = {};
  std::vector<float> weights = {};
  std::vector<float> bias = {};
};

inline Layer random_layer(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed) {
  Layer layer{.mask = sparse::uniform(rows, cols, sparsity, seed)};
  const float scale = 1.0F / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, layer.mask.nonzeros() / rows)));
  layer.weights = sparse::normal_values(layer.mask.nonzeros(), seed + 1);
  for (float& weight : layer.weights) weight *= scale;
  layer.bias = sparse::normal_values(rows, seed + 2);
  for (float& value : layer.bias) value *= 0.1F;
  return layer;
}

/// visit(row, column, position in the weights) for every element of a mask.
template <class Visit>
void each_element(const sparse::Csr& mask, const Visit& visit) {
  for (std::int64_t row = 0; row < mask.rows; ++row)
    for (std::int64_t e = mask.row_offsets[static_cast<std::size_t>(row)];
         e < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++e)
      visit(row, mask.column_indices[static_cast<std::size_t>(e)], static_cast<std::size_t>(e));
}

/// Gradients of a layer.
template <class Real>
struct LayerGradient {
  std::vector<Real> weights = {};
  std::vector<Real> bias = {};
};

template <class Real>
struct MlpGradient {
  LayerGradient<Real> first = {};
  LayerGradient<Real> second = {};
};

/// Moves parameters against their gradient.
template <class Parameters, class Real>
void descend(Parameters& parameters, const LayerGradient<Real>& gradient, Real rate) {
  for (std::size_t i = 0; i < parameters.weights.size(); ++i) parameters.weights[i] -= rate * gradient.weights[i];
  for (std::size_t i = 0; i < parameters.bias.size(); ++i) parameters.bias[i] -= rate * gradient.bias[i];
}

/// The sum over each row of a [rows, columns] matrix.
template <class Real>
std::vector<Real> row_sums(const std::vector<Real>& matrix, std::int64_t rows) {
  std::vector<Real> sums(static_cast<std::size_t>(rows), Real{0});
  const std::size_t columns = rows == 0 ? 0 : matrix.size() / static_cast<std::size_t>(rows);
  for (std::size_t row = 0; row < sums.size(); ++row)
    for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) sums[row] += matrix[i];
  return sums;
}

/// relu's derivative.
template <class Real>
void zero_where_inactive(std::vector<Real>& gradient, const std::vector<Real>& activation) {
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (!(activation[i] > 0)) gradient[i] = 0;
}

}  // namespace vostok::models
