// A two-layer perceptron with sparse weights through the public API: logits = W2 relu(W1 X + b1) + b2, columns of X are
// samples. What is element-wise between the products (loss, relu's derivative, steps) is done on the host.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <vostok/vostok.hpp>

#include "base/stopwatch.hpp"
#include "bench/models/floats.hpp"
#include "bench/models/layer.hpp"
#include "context_state.hpp"

namespace vostok::models {

/// A layer on the device: its plans forward and backward, its parameters and what flows through it.
class DeviceLayer {
 public:
  DeviceLayer(const Context& context, const Layer& layer, std::int64_t samples, Activation activation)
      : context_(context),
        device_(context_.state()->session->device()),
        topology_(context_.topology(layer.mask.view())),
        forward_(context_.plan(Spmm{.n = samples, .epilogue = {.bias = Bias::per_row, .activation = activation}},
                               topology_)),
        input_gradient_(context_.plan(Spmm{.n = samples, .sparse_transposed = true}, topology_)),
        weight_gradient_(context_.plan(Sddmm{.n = samples}, topology_)),
        weights_(device_, layer.weights),
        bias_(device_, layer.bias),
        weight_gradient_values_(device_, layer.weights.size()),
        output_(device_, static_cast<std::size_t>(layer.mask.rows * samples)),
        output_gradient_(device_, static_cast<std::size_t>(layer.mask.rows * samples)),
        input_gradient_values_(device_, static_cast<std::size_t>(layer.mask.cols * samples)) {}

  /// Another mask of the same shape with as many nonzeros.
  void rebind(const Layer& layer) {
    topology_ = context_.topology(layer.mask.view());
    forward_ = forward_.rebind(topology_);
    input_gradient_ = input_gradient_.rebind(topology_);
    weight_gradient_ = weight_gradient_.rebind(topology_);
  }

  void forward(const Layer& layer, const Floats& input) {
    weights_.write(layer.weights);
    bias_.write(layer.bias);
    run(forward_, {.values = weights_.data(), .dense = input.data(), .output = output_.data(), .bias = bias_.data()});
  }
  const Floats& output() const { return output_; }

  /// At the `input` and the weights of the last `forward`.
  LayerGradient<float> backward(const std::vector<float>& output_gradient, const Floats& input) {
    output_gradient_.write(output_gradient);
    run(weight_gradient_,
        {.lhs = output_gradient_.data(), .rhs = input.data(), .output = weight_gradient_values_.data()});
    return {.weights = weight_gradient_values_.read(), .bias = row_sums(output_gradient, topology_.rows())};
  }

  /// After `backward`.
  std::vector<float> input_gradient() {
    run(input_gradient_,
        {.values = weights_.data(), .dense = output_gradient_.data(), .output = input_gradient_values_.data()});
    return input_gradient_values_.read();
  }

  /// What the products took so far, each until the device was done.
  double products_us() const { return products_us_; }

 private:
  template <class Problem>
  void run(const Plan<Problem>& plan, typename Problem::Arguments arguments) {
    const Workspace workspace = plan.make_workspace();
    arguments.workspace = workspace;
    Stopwatch watch;
    plan.execute(nullptr, arguments);
    device_.synchronize(nullptr);
    products_us_ += watch.lap_us();
  }

  Context context_;
  device::Device& device_;
  Topology topology_;
  SpmmPlan forward_;
  SpmmPlan input_gradient_;
  SddmmPlan weight_gradient_;
  Floats weights_;
  Floats bias_;
  Floats weight_gradient_values_;
  Floats output_;
  Floats output_gradient_;
  Floats input_gradient_values_;
  double products_us_ = 0;
};

class SparseMlp {
 public:
  SparseMlp(const Context& context, const Layer& first, const Layer& second, std::int64_t samples)
      : first_(context, first, samples, Activation::relu),
        second_(context, second, samples, Activation::none),
        input_(context.state()->session->device(), static_cast<std::size_t>(first.mask.cols * samples)) {}

  /// Other masks of the same shapes with as many nonzeros.
  void rebind(const Layer& first, const Layer& second) {
    first_.rebind(first);
    second_.rebind(second);
  }

  /// Logits [classes, samples].
  std::vector<float> forward(const Layer& first, const Layer& second, const std::vector<float>& input) {
    input_.write(input);
    first_.forward(first, input_);
    second_.forward(second, first_.output());
    return second_.output().read();
  }

  /// At the parameters, the input and the activations of the last `forward`.
  MlpGradient<float> backward(const std::vector<float>& logit_gradient) {
    MlpGradient<float> gradient{.second = second_.backward(logit_gradient, first_.output())};
    std::vector<float> hidden_gradient = second_.input_gradient();
    zero_where_inactive(hidden_gradient, first_.output().read());
    gradient.first = first_.backward(hidden_gradient, input_);
    return gradient;
  }

  /// After `backward`.
  std::vector<float> input_gradient() { return first_.input_gradient(); }

  /// What the products took so far, each until the device was done.
  double products_us() const { return first_.products_us() + second_.products_us(); }

 private:
  DeviceLayer first_;
  DeviceLayer second_;
  Floats input_;
};

}  // namespace vostok::models
