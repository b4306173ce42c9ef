// What a sparse perceptron is compared with: the same one in float64, with dense matrices that are zero outside the
// masks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/in_parts.hpp"
#include "bench/models/layer.hpp"

namespace vostok::models {

/// weights [rows, cols]; in_mask says which may differ from zero.
struct DenseLayer {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> weights = {};
  std::vector<char> in_mask = {};
  std::vector<double> bias = {};
};

inline std::vector<char> places_of(const sparse::Csr& mask) {
  std::vector<char> places(static_cast<std::size_t>(mask.rows * mask.cols), 0);
  each_element(mask, [&](std::int64_t row, std::int64_t column, std::size_t) {
    places[static_cast<std::size_t>(row * mask.cols + column)] = 1;
  });
  return places;
}

inline DenseLayer widened(const Layer& layer) {
  DenseLayer dense{.rows = layer.mask.rows, .cols = layer.mask.cols, .in_mask = places_of(layer.mask)};
  dense.weights.resize(dense.in_mask.size());
  dense.bias.assign(layer.bias.begin(), layer.bias.end());
  each_element(layer.mask, [&](std::int64_t row, std::int64_t column, std::size_t e) {
    dense.weights[static_cast<std::size_t>(row * dense.cols + column)] = static_cast<double>(layer.weights[e]);
  });
  return dense;
}

/// Rows of a [count, samples] matrix on all cores; `terms` are added up in each of its elements.
template <class Row>
void each_row(std::int64_t count, std::int64_t samples, std::int64_t terms, const Row& row) {
  constexpr std::int64_t least_work = 1'000'000;  // less takes no longer than starting a thread
  in_parts(count, 1 + least_work / std::max<std::int64_t>(1, samples * terms),
           [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t i = begin; i < end; ++i) row(i);
           });
}

inline void add_scaled(double* sum, double factor, const double* terms, std::int64_t count) {
  for (std::int64_t s = 0; s < count; ++s) sum[s] += factor * terms[s];
}

inline std::vector<double> multiply(const DenseLayer& layer, const std::vector<double>& input, std::int64_t samples) {
  std::vector<double> output(static_cast<std::size_t>(layer.rows * samples));
  each_row(layer.rows, samples, layer.cols, [&](std::int64_t i) {
    double* const sum = output.data() + i * samples;
    std::fill(sum, sum + samples, layer.bias[static_cast<std::size_t>(i)]);
    for (std::int64_t j = 0; j < layer.cols; ++j)
      add_scaled(sum, layer.weights[static_cast<std::size_t>(i * layer.cols + j)], input.data() + j * samples, samples);
  });
  return output;
}

inline std::vector<double> multiply_transposed(const DenseLayer& layer, const std::vector<double>& gradient,
                                               std::int64_t samples) {
  std::vector<double> output(static_cast<std::size_t>(layer.cols * samples));
  each_row(layer.cols, samples, layer.rows, [&](std::int64_t j) {
    for (std::int64_t i = 0; i < layer.rows; ++i)
      add_scaled(output.data() + j * samples, layer.weights[static_cast<std::size_t>(i * layer.cols + j)],
                 gradient.data() + i * samples, samples);
  });
  return output;
}

/// 0 outside the mask.
inline std::vector<double> weight_gradient(const DenseLayer& layer, const std::vector<double>& gradient,
                                           const std::vector<double>& input, std::int64_t samples) {
  std::vector<double> output(layer.weights.size());
  each_row(layer.rows, samples, layer.cols, [&](std::int64_t i) {
    for (std::int64_t j = 0; j < layer.cols; ++j) {
      const auto at = static_cast<std::size_t>(i * layer.cols + j);
      for (std::int64_t s = 0; s < samples && layer.in_mask[at] != 0; ++s)
        output[at] +=
            gradient[static_cast<std::size_t>(i * samples + s)] * input[static_cast<std::size_t>(j * samples + s)];
    }
  });
  return output;
}

class DenseTwin {
 public:
  DenseTwin(const Layer& first, const Layer& second) : first_(widened(first)), second_(widened(second)) {}

  /// Other masks: weights that they lack are 0 from now on; those that are new were 0.
  void rebind(const Layer& first, const Layer& second) {
    set_mask(first_, first.mask);
    set_mask(second_, second.mask);
  }

  std::vector<double> forward(const std::vector<double>& input, std::int64_t samples) {
    hidden_ = multiply(first_, input, samples);
    for (double& value : hidden_) value = std::max(value, 0.0);
    return multiply(second_, hidden_, samples);
  }

  /// For the `input` and the activations of the last `forward`.
  MlpGradient<double> backward(const std::vector<double>& input, const std::vector<double>& logit_gradient,
                               std::int64_t samples) const {
    std::vector<double> hidden_gradient = multiply_transposed(second_, logit_gradient, samples);
    zero_where_inactive(hidden_gradient, hidden_);
    return {.first = {.weights = weight_gradient(first_, hidden_gradient, input, samples),
                      .bias = row_sums(hidden_gradient, first_.rows)},
            .second = {.weights = weight_gradient(second_, logit_gradient, hidden_, samples),
                       .bias = row_sums(logit_gradient, second_.rows)}};
  }

  void step(const MlpGradient<double>& gradient, double rate) {
    descend(first_, gradient.first, rate);
    descend(second_, gradient.second, rate);
  }

 private:
  static void set_mask(DenseLayer& layer, const sparse::Csr& mask) {
    layer.in_mask = places_of(mask);
    for (std::size_t i = 0; i < layer.weights.size(); ++i)
      if (layer.in_mask[i] == 0) layer.weights[i] = 0;
  }

  DenseLayer first_;
  DenseLayer second_;
  std::vector<double> hidden_;
};

}  // namespace vostok::models
