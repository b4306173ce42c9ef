// A two-layer perceptron with sparse weights through the public API, and its float64 twin: logits = W2 relu(W1 X + b1) + b2, columns
// of X are samples. What is element-wise between the products (loss, relu's derivative, steps) is done on the host.
#pragma once

#include <cmath>
#include <vector>

#include "device/devices.hpp"
#include "device/kernel_devices.hpp"

namespace vostok::test {

/// Weights at a mask, and a bias per row.
struct Layer {
  sparse::Csr mask;
  std::vector<float> weights;
  std::vector<float> bias;
};

inline Layer random_layer(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed) {
  Layer layer{.mask = sparse::uniform(rows, cols, sparsity, seed), .weights = {}, .bias = {}};
  const float scale = 1.0F / std::sqrt(static_cast<float>(std::max<std::int64_t>(1, layer.mask.nonzeros() / rows)));
  layer.weights = sparse::normal_values(layer.mask.nonzeros(), seed + 1);
  for (float& weight : layer.weights) weight *= scale;
  layer.bias = sparse::normal_values(rows, seed + 2);
  for (float& value : layer.bias) value *= 0.1F;
  return layer;
}

/// Gradients of a layer.
template <class Real>
struct LayerGradient {
  std::vector<Real> weights;
  std::vector<Real> bias;
};

template <class Real>
struct MlpGradient {
  LayerGradient<Real> first;
  LayerGradient<Real> second;
  std::vector<Real> input;
};

/// The sum over each row of a [rows, columns] matrix.
template <class Real>
std::vector<Real> row_sums(const std::vector<Real>& matrix, std::int64_t rows) {
  std::vector<Real> sums(static_cast<std::size_t>(rows), Real{0});
  const std::size_t columns = rows == 0 ? 0 : matrix.size() / static_cast<std::size_t>(rows);
  for (std::size_t i = 0; i < matrix.size(); ++i) sums[i / columns] += matrix[i];
  return sums;
}

template <class Real>
void zero_where_inactive(std::vector<Real>& gradient, const std::vector<Real>& activation) {
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (!(activation[i] > 0)) gradient[i] = 0;
}

/// The perceptron on a device.
class SparseMlp {
 public:
  SparseMlp(const Context& context, const Layer& first, const Layer& second, std::int64_t samples)
      : context_(context),
        samples_(samples),
        first_(plan(first, Activation::relu)),
        second_(plan(second, Activation::none)),
        hidden_(device(), zeros(first.mask.rows * samples)),
        logits_(device(), zeros(second.mask.rows * samples)) {}

  /// Logits [classes, samples].
  std::vector<float> forward(const Layer& first, const Layer& second, const std::vector<float>& input) {
    const Floats x(device(), input);
    multiply(first_.forward, first, x, hidden_);
    multiply(second_.forward, second, hidden_, logits_);
    return logits_.read();
  }

  /// Gradients for the input and the activations of the last `forward`.
  MlpGradient<float> backward(const Layer& first, const Layer& second, const std::vector<float>& input, const std::vector<float>& logit_gradient) {
    MlpGradient<float> gradient;
    const std::vector<float> hidden = hidden_.read();
    gradient.second = weight_gradient(second_, second, logit_gradient, hidden);
    std::vector<float> hidden_gradient = input_gradient(second_, second, logit_gradient);
    zero_where_inactive(hidden_gradient, hidden);
    gradient.first = weight_gradient(first_, first, hidden_gradient, input);
    gradient.input = input_gradient(first_, first, hidden_gradient);
    return gradient;
  }

 private:
  struct Plans {
    SpmmPlan forward;
    SpmmPlan transposed;
    SddmmPlan sampled;
  };

  device::Device& device() const { return device_of(context_); }
  static std::vector<float> zeros(std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count), 0.0F); }

  Plans plan(const Layer& layer, Activation activation) const {
    const Topology mask = context_.topology(layer.mask.view());
    return {.forward = context_.plan(Spmm{.n = samples_, .epilogue = {.bias = Bias::per_row, .activation = activation}}, mask),
            .transposed = context_.plan(Spmm{.n = samples_, .sparse_transposed = true}, mask),
            .sampled = context_.plan(Sddmm{.n = samples_}, mask)};
  }

  void multiply(const SpmmPlan& plan, const Layer& layer, const Floats& dense, Floats& output) const {
    const Floats weights(device(), layer.weights), bias(device(), layer.bias);
    const Workspace workspace = plan.make_workspace();
    plan.execute(nullptr, {.values = weights.data(), .dense = dense.data(), .output = output.data(), .bias = bias.data(), .workspace = workspace});
    device().synchronize(nullptr);
  }

  LayerGradient<float> weight_gradient(const Plans& plans, const Layer& layer, const std::vector<float>& output_gradient,
                                       const std::vector<float>& input) const {
    const Floats lhs(device(), output_gradient), rhs(device(), input), result(device(), zeros(layer.mask.nonzeros()));
    const Workspace workspace = plans.sampled.make_workspace();
    plans.sampled.execute(nullptr, {.lhs = lhs.data(), .rhs = rhs.data(), .output = result.data(), .workspace = workspace});
    device().synchronize(nullptr);
    return {.weights = result.read(), .bias = row_sums(output_gradient, layer.mask.rows)};
  }

  std::vector<float> input_gradient(const Plans& plans, const Layer& layer, const std::vector<float>& output_gradient) const {
    const Floats weights(device(), layer.weights), dense(device(), output_gradient), result(device(), zeros(layer.mask.cols * samples_));
    const Workspace workspace = plans.transposed.make_workspace();
    plans.transposed.execute(nullptr, {.values = weights.data(), .dense = dense.data(), .output = result.data(), .workspace = workspace});
    device().synchronize(nullptr);
    return result.read();
  }

  Context context_;
  std::int64_t samples_;
  Plans first_;
  Plans second_;
  Floats hidden_;
  Floats logits_;
};

/// The same perceptron in float64 with dense matrices that are zero outside the masks.
class DenseTwin {
 public:
  DenseTwin(const Layer& first, const Layer& second) : first_(widen(first)), second_(widen(second)) {}

  std::vector<double> forward(const std::vector<double>& input, std::int64_t samples) {
    hidden_ = multiply(first_, input, samples);
    for (double& value : hidden_) value = std::max(value, 0.0);
    return multiply(second_, hidden_, samples);
  }

  MlpGradient<double> backward(const std::vector<double>& input, const std::vector<double>& logit_gradient, std::int64_t samples) const {
    MlpGradient<double> gradient;
    gradient.second = {.weights = weight_gradient(second_, logit_gradient, hidden_, samples), .bias = row_sums(logit_gradient, second_.rows)};
    std::vector<double> hidden_gradient = multiply_transposed(second_, logit_gradient, samples);
    zero_where_inactive(hidden_gradient, hidden_);
    gradient.first = {.weights = weight_gradient(first_, hidden_gradient, input, samples), .bias = row_sums(hidden_gradient, first_.rows)};
    return gradient;
  }

  /// Moves every weight and bias against its gradient.
  void step(const MlpGradient<double>& gradient, double rate) {
    move(first_, gradient.first, rate);
    move(second_, gradient.second, rate);
  }

 private:
  /// weights [rows, cols]; in_mask says which may differ from zero.
  struct Dense {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::vector<double> weights = {};
    std::vector<bool> in_mask = {};
    std::vector<double> bias = {};
  };

  static Dense widen(const Layer& layer) {
    Dense dense{.rows = layer.mask.rows, .cols = layer.mask.cols};
    dense.weights.resize(static_cast<std::size_t>(dense.rows * dense.cols));
    dense.in_mask.resize(dense.weights.size());
    dense.bias.assign(layer.bias.begin(), layer.bias.end());
    for (std::int64_t row = 0; row < dense.rows; ++row)
      for (std::int64_t e = layer.mask.row_offsets[static_cast<std::size_t>(row)]; e < layer.mask.row_offsets[static_cast<std::size_t>(row) + 1];
           ++e) {
        const auto at = static_cast<std::size_t>(row * dense.cols + layer.mask.column_indices[static_cast<std::size_t>(e)]);
        dense.weights[at] = static_cast<double>(layer.weights[static_cast<std::size_t>(e)]);
        dense.in_mask[at] = true;
      }
    return dense;
  }

  static std::vector<double> multiply(const Dense& layer, const std::vector<double>& input, std::int64_t samples) {
    std::vector<double> output(static_cast<std::size_t>(layer.rows * samples));
    for (std::int64_t i = 0; i < layer.rows; ++i)
      for (std::int64_t s = 0; s < samples; ++s) {
        double sum = layer.bias[static_cast<std::size_t>(i)];
        for (std::int64_t j = 0; j < layer.cols; ++j)
          sum += layer.weights[static_cast<std::size_t>(i * layer.cols + j)] * input[static_cast<std::size_t>(j * samples + s)];
        output[static_cast<std::size_t>(i * samples + s)] = sum;
      }
    return output;
  }

  static std::vector<double> multiply_transposed(const Dense& layer, const std::vector<double>& gradient, std::int64_t samples) {
    std::vector<double> output(static_cast<std::size_t>(layer.cols * samples));
    for (std::int64_t i = 0; i < layer.rows; ++i)
      for (std::int64_t j = 0; j < layer.cols; ++j)
        for (std::int64_t s = 0; s < samples; ++s)
          output[static_cast<std::size_t>(j * samples + s)] +=
              layer.weights[static_cast<std::size_t>(i * layer.cols + j)] * gradient[static_cast<std::size_t>(i * samples + s)];
    return output;
  }

  static std::vector<double> weight_gradient(const Dense& layer, const std::vector<double>& gradient, const std::vector<double>& input,
                                             std::int64_t samples) {
    std::vector<double> output(layer.weights.size());
    for (std::int64_t i = 0; i < layer.rows; ++i)
      for (std::int64_t j = 0; j < layer.cols; ++j) {
        const auto at = static_cast<std::size_t>(i * layer.cols + j);
        for (std::int64_t s = 0; s < samples && layer.in_mask[at]; ++s)
          output[at] += gradient[static_cast<std::size_t>(i * samples + s)] * input[static_cast<std::size_t>(j * samples + s)];
      }
    return output;
  }

  static void move(Dense& layer, const LayerGradient<double>& gradient, double rate) {
    for (std::size_t i = 0; i < layer.weights.size(); ++i) layer.weights[i] -= rate * gradient.weights[i];
    for (std::size_t i = 0; i < layer.bias.size(); ++i) layer.bias[i] -= rate * gradient.bias[i];
  }

  Dense first_;
  Dense second_;
  std::vector<double> hidden_;
};

}  // namespace vostok::test
