// Products, sampled products and softmax composed into networks: their gradients beside float64 finite differences, and a training run
// beside its dense-masked twin.
#include <doctest/doctest.h>

#include <numeric>

#include "device/finite_differences.hpp"
#include "device/sparse_mlp.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 4711;

std::vector<double> widened(const std::vector<float>& values) { return {values.begin(), values.end()}; }

}  // namespace

TEST_CASE("the gradients of a sparse perceptron agree with float64 finite differences") {
  MESSAGE("seed " << seed);
  constexpr std::int64_t inputs = 14, hidden = 19, classes = 5, samples = 9;
  Layer first = random_layer(hidden, inputs, 0.6, seed), second = random_layer(classes, hidden, 0.5, seed + 10);
  std::vector<float> x = sparse::normal_values(inputs * samples, seed + 20);
  const std::vector<float> target = sparse::normal_values(classes * samples, seed + 21);
  // Loss = |logits - target|^2 / 2.
  const auto loss = [&] {
    const std::vector<double> logits = DenseTwin(first, second).forward(widened(x), samples);
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i)
      sum += (logits[i] - static_cast<double>(target[i])) * (logits[i] - static_cast<double>(target[i]));
    return sum / 2;
  };
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    SparseMlp mlp(memory_context(name), first, second, samples);
    std::vector<float> gradient = mlp.forward(first, second, x);
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] -= target[i];
    const MlpGradient<float> found = mlp.backward(first, second, x, gradient);
    // A step of 2^-10 over a piecewise quadratic loss: exact but for the relu's corners, which these seeds do not cross.
    constexpr double tolerance = 2e-5;
    CHECK(distance(found.first.weights, finite_differences(first.weights, loss)) < tolerance);
    CHECK(distance(found.first.bias, finite_differences(first.bias, loss)) < tolerance);
    CHECK(distance(found.second.weights, finite_differences(second.weights, loss)) < tolerance);
    CHECK(distance(found.second.bias, finite_differences(second.bias, loss)) < tolerance);
    CHECK(distance(found.input, finite_differences(x, loss)) < tolerance);
  }
}

namespace {

/// Points around as many centres as there are classes, a sample a column.
struct Task {
  std::int64_t inputs;
  std::int64_t classes;
  std::vector<float> x;
  std::vector<std::size_t> labels;

  std::int64_t samples() const { return static_cast<std::int64_t>(labels.size()); }
};

/// Each class has three centres in different places, so that no linear classifier separates them.
Task make_task(std::int64_t inputs, std::int64_t classes, std::int64_t samples, std::uint64_t task_seed) {
  constexpr std::int64_t centres = 3;
  const std::vector<float> centre = sparse::normal_values(classes * centres * inputs, seed + 100);
  const std::vector<float> noise = sparse::normal_values(samples * inputs, task_seed);
  Task task{.inputs = inputs, .classes = classes, .x = std::vector<float>(static_cast<std::size_t>(inputs * samples)), .labels = {}};
  sparse::Random random(task_seed + 1);
  for (std::int64_t s = 0; s < samples; ++s) {
    const std::int64_t label = random.below(classes);
    const std::int64_t place = label * centres + random.below(centres);
    task.labels.push_back(static_cast<std::size_t>(label));
    for (std::int64_t j = 0; j < inputs; ++j)
      task.x[static_cast<std::size_t>(j * samples + s)] =
          centre[static_cast<std::size_t>(place * inputs + j)] + 0.5F * noise[static_cast<std::size_t>(s * inputs + j)];
  }
  return task;
}

/// The gradient of the mean cross-entropy by the logits [classes, samples].
template <class Real>
std::vector<Real> cross_entropy_gradient(const std::vector<Real>& logits, const Task& task) {
  std::vector<Real> gradient(logits.size());
  const auto samples = static_cast<std::size_t>(task.samples());
  for (std::size_t s = 0; s < samples; ++s) {
    Real most = logits[s], sum = 0;
    for (std::size_t c = 0; c * samples + s < logits.size(); ++c) most = std::max(most, logits[c * samples + s]);
    for (std::size_t c = 0; c * samples + s < logits.size(); ++c) sum += std::exp(logits[c * samples + s] - most);
    for (std::size_t c = 0; c * samples + s < logits.size(); ++c)
      gradient[c * samples + s] =
          (std::exp(logits[c * samples + s] - most) / sum - (task.labels[s] == c ? Real{1} : Real{0})) / static_cast<Real>(samples);
  }
  return gradient;
}

template <class Real>
double accuracy(const std::vector<Real>& logits, const Task& task) {
  const auto samples = static_cast<std::size_t>(task.samples());
  std::size_t right = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    std::size_t best = 0;
    for (std::size_t c = 1; c * samples + s < logits.size(); ++c)
      if (logits[c * samples + s] > logits[best * samples + s]) best = c;
    right += best == task.labels[s] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(samples);
}

void move(Layer& layer, const LayerGradient<float>& gradient, float rate) {
  for (std::size_t i = 0; i < layer.weights.size(); ++i) layer.weights[i] -= rate * gradient.weights[i];
  for (std::size_t i = 0; i < layer.bias.size(); ++i) layer.bias[i] -= rate * gradient.bias[i];
}

}  // namespace

TEST_CASE("a 90 % sparse perceptron trained with the library reaches the accuracy of its dense-masked twin") {
  if (thread_sanitized) {
    MESSAGE("skipped: 120 training steps take ThreadSanitizer many minutes, the other builds run them");
    return;
  }
  constexpr std::int64_t inputs = 32, hidden = 128, classes = 4, samples = 128;
  constexpr int steps = 120;
  constexpr float rate = 1.0F;
  const Task training = make_task(inputs, classes, samples, seed + 1), held_out = make_task(inputs, classes, samples, seed + 2);
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    Layer first = random_layer(hidden, inputs, 0.9, seed + 30), second = random_layer(classes, hidden, 0.9, seed + 40);
    DenseTwin twin(first, second);
    SparseMlp mlp(memory_context(name), first, second, samples);
    const std::vector<double> x = widened(training.x);
    for (int step = 0; step < steps; ++step) {
      const std::vector<float> logits = mlp.forward(first, second, training.x);
      const MlpGradient<float> gradient = mlp.backward(first, second, training.x, cross_entropy_gradient(logits, training));
      move(first, gradient.first, rate);
      move(second, gradient.second, rate);
      const std::vector<double> twin_logits = twin.forward(x, samples);
      twin.step(twin.backward(x, cross_entropy_gradient(twin_logits, training), samples), static_cast<double>(rate));
    }
    const double sparse_accuracy = accuracy(mlp.forward(first, second, held_out.x), held_out);
    const double twin_accuracy = accuracy(twin.forward(widened(held_out.x), samples), held_out);
    MESSAGE(name << ", seed " << seed << ": " << sparse_accuracy << " sparse, " << twin_accuracy << " dense-masked, " << 1.0 / classes
                 << " by chance");
    CHECK(twin_accuracy > 0.8);
    CHECK(sparse_accuracy >= twin_accuracy - 0.01);
  }
}
