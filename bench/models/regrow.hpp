// Masks that change while a network is trained: small weights go, and as many grow elsewhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bench/models/layer.hpp"

namespace vostok::models {

/// A layer's whole matrix.
struct WholeLayer {
  enum class Place : char { outside, dropped, inside };
  std::vector<Place> places;
  std::vector<float> weights;
};

/// Without the `count` weights of the least magnitudes.
inline WholeLayer drop_least(const Layer& layer, std::int64_t count) {
  std::vector<float> magnitudes(layer.weights.size());
  std::transform(layer.weights.begin(), layer.weights.end(), magnitudes.begin(),
                 [](float weight) { return std::abs(weight); });
  const auto last = magnitudes.begin() + count - 1;
  std::nth_element(magnitudes.begin(), last, magnitudes.end());

  const auto size = static_cast<std::size_t>(layer.mask.rows * layer.mask.cols);
  WholeLayer whole{.places = std::vector(size, WholeLayer::Place::outside), .weights = std::vector<float>(size)};
  each_element(layer.mask, [&](std::int64_t row, std::int64_t column, std::size_t e) {
    const auto at = static_cast<std::size_t>(row * layer.mask.cols + column);
    const bool drops = count > 0 && std::abs(layer.weights[e]) <= *last;  // of equal ones the first
    whole.places[at] = drops ? WholeLayer::Place::dropped : WholeLayer::Place::inside;
    if (drops) --count;
    else whole.weights[at] = layer.weights[e];
  });
  return whole;
}

/// Drops that share of the weights, the least, and grows as many, which begin at 0, where the mask had none.
inline Layer regrown(const Layer& layer, double share, std::uint64_t seed) {
  const std::int64_t rows = layer.mask.rows, cols = layer.mask.cols, nonzeros = layer.mask.nonzeros();
  const std::int64_t count =
      std::min(rows * cols - nonzeros, static_cast<std::int64_t>(share * static_cast<double>(nonzeros)));
  if (count == 0) return layer;
  WholeLayer whole = drop_least(layer, count);
  sparse::Random random(seed);
  for (std::int64_t grown = 0; grown < count;) {
    WholeLayer::Place& place = whole.places[static_cast<std::size_t>(random.below(rows * cols))];
    if (place != WholeLayer::Place::outside) continue;
    place = WholeLayer::Place::inside;
    ++grown;
  }
  Layer next{.mask = {.rows = rows, .cols = cols}, .bias = layer.bias};
  for (std::int64_t at = 0; at < rows * cols; ++at) {
    if (whole.places[static_cast<std::size_t>(at)] == WholeLayer::Place::inside) {
      next.mask.column_indices.push_back(static_cast<std::int32_t>(at % cols));
      next.weights.push_back(whole.weights[static_cast<std::size_t>(at)]);
    }
    if ((at + 1) % cols == 0) next.mask.row_offsets.push_back(next.mask.nonzeros());
  }
  return next;
}

}  // namespace vostok::models
