// Products, sampled products and softmax composed into networks: their gradients beside float64 finite differences, and
// a training run beside its dense-masked twin.
#include <doctest/doctest.h>

#include "bench/models/classification.hpp"
#include "bench/models/dense_twin.hpp"
#include "bench/models/regrow.hpp"
#include "bench/models/sparse_mlp.hpp"
#include "device/devices.hpp"
#include "device/finite_differences.hpp"
#include "device/kernel_devices.hpp"

using namespace vostok;
using namespace vostok::models;
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
    const MlpGradient<float> found = mlp.backward(gradient);
    // A step of 2^-10 over a piecewise quadratic loss: exact but for the relu's corners, which these seeds do not
    // cross.
    constexpr double tolerance = 2e-5;
    CHECK(distance(found.first.weights, finite_differences(first.weights, loss)) < tolerance);
    CHECK(distance(found.first.bias, finite_differences(first.bias, loss)) < tolerance);
    CHECK(distance(found.second.weights, finite_differences(second.weights, loss)) < tolerance);
    CHECK(distance(found.second.bias, finite_differences(second.bias, loss)) < tolerance);
    CHECK(distance(mlp.input_gradient(), finite_differences(x, loss)) < tolerance);
  }
}

TEST_CASE("a 90 % sparse perceptron trained with the library reaches the accuracy of its dense-masked twin") {
  if (thread_sanitized) {
    MESSAGE("skipped: 120 training steps take ThreadSanitizer many minutes, the other builds run them");
    return;
  }
  constexpr std::int64_t inputs = 32, hidden = 128, classes = 4, samples = 128;
  constexpr int steps = 120;
  constexpr float rate = 1.0F;
  const TaskShape shape{.inputs = inputs, .classes = classes, .samples = samples};
  const Task training = make_task(shape, seed + 100, seed + 1), held_out = make_task(shape, seed + 100, seed + 2);
  for (const std::string& name : device_names()) {
    CAPTURE(name);
    Layer first = random_layer(hidden, inputs, 0.9, seed + 30), second = random_layer(classes, hidden, 0.9, seed + 40);
    DenseTwin twin(first, second);
    SparseMlp mlp(memory_context(name), first, second, samples);
    const std::vector<double> x = widened(training.x);
    for (int step = 0; step < steps; ++step) {
      const std::vector<float> logits = mlp.forward(first, second, training.x);
      const MlpGradient<float> gradient = mlp.backward(cross_entropy(logits, training).gradient);
      descend(first, gradient.first, rate);
      descend(second, gradient.second, rate);
      const std::vector<double> twin_logits = twin.forward(x, samples);
      twin.step(twin.backward(x, cross_entropy(twin_logits, training).gradient, samples), static_cast<double>(rate));
    }
    const double sparse_accuracy = accuracy(mlp.forward(first, second, held_out.x), held_out);
    const double twin_accuracy = accuracy(twin.forward(widened(held_out.x), samples), held_out);
    MESSAGE(name << ", seed " << seed << ": " << sparse_accuracy << " sparse, " << twin_accuracy << " dense-masked, "
                 << 1.0 / classes << " by chance");
    CHECK(twin_accuracy > 0.8);
    CHECK(sparse_accuracy >= twin_accuracy - 0.01);
  }
}

TEST_CASE("a regrown layer keeps its greatest weights, and as many as it loses begin at 0 elsewhere") {
  const Layer before = random_layer(23, 31, 0.8, seed + 50);
  const Layer after = regrown(before, 0.3, seed + 51);
  REQUIRE(after.mask.nonzeros() == before.mask.nonzeros());
  std::int64_t last = -1;
  each_element(after.mask, [&](std::int64_t row, std::int64_t column, std::size_t) {
    CHECK(row * 31 + column > last);
    last = row * 31 + column;
  });
  CHECK(after.bias == before.bias);
  const std::vector<double> old_weights = widened(before).weights, new_weights = widened(after).weights;
  const std::vector<char> old_places = places_of(before.mask), new_places = places_of(after.mask);
  double greatest_dropped = 0, least_kept = 1e9;
  std::int64_t dropped = 0, grown = 0;
  for (std::size_t i = 0; i < old_places.size(); ++i) {
    if (old_places[i] != 0 && new_places[i] == 0)
      ++dropped, greatest_dropped = std::max(greatest_dropped, std::abs(old_weights[i]));
    if (old_places[i] != 0 && new_places[i] != 0) least_kept = std::min(least_kept, std::abs(old_weights[i]));
    if (old_places[i] == 0 && new_places[i] != 0) ++grown;
    CHECK(new_weights[i] == (old_places[i] != 0 && new_places[i] != 0 ? old_weights[i] : 0.0));
  }
  CHECK(dropped == static_cast<std::int64_t>(0.3 * static_cast<double>(before.mask.nonzeros())));
  CHECK(grown == dropped);
  CHECK(greatest_dropped <= least_kept);
  CHECK(regrown(random_layer(5, 6, 0, seed), 0.5, seed).mask.column_indices ==
        random_layer(5, 6, 0, seed).mask.column_indices);
}
