// A sparse attention block: the gradients that the library computes beside float64 finite differences of its forward
// pass.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "device/devices.hpp"
#include "device/finite_differences.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 9091;

/// Heads of queries [heads, m, n], keys [heads, k, n] and values [heads, k, n] that share a mask.
struct Block {
  std::int64_t heads = 2;
  std::int64_t n = 6;
  sparse::Csr mask = sparse::uniform(11, 13, 0.6, seed, 0.5);
  std::vector<float> query = sparse::normal_values(heads * mask.rows * n, seed + 1);
  std::vector<float> key = sparse::normal_values(heads * mask.cols * n, seed + 2);
  std::vector<float> value = sparse::normal_values(heads * mask.cols * n, seed + 3);
  std::vector<float> output_gradient = sparse::normal_values(heads * mask.rows * n, seed + 4);

  double dot(std::int64_t head, std::int64_t i, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t l = 0; l < n; ++l)
      sum += static_cast<double>(query[static_cast<std::size_t>((head * mask.rows + i) * n + l)]) *
             static_cast<double>(key[static_cast<std::size_t>((head * mask.cols + j) * n + l)]);
    return sum / std::sqrt(static_cast<double>(n));
  }

  /// What a row of the output adds to the sum over output * output_gradient.
  double row_loss(std::int64_t head, std::int64_t i) const {
    double weighted = 0, total = 0;
    for (std::int64_t e = mask.row_offsets[static_cast<std::size_t>(i)];
         e < mask.row_offsets[static_cast<std::size_t>(i) + 1]; ++e) {
      const std::int64_t j = mask.column_indices[static_cast<std::size_t>(e)];
      const double weight = std::exp(dot(head, i, j));
      double gain = 0;
      for (std::int64_t l = 0; l < n; ++l)
        gain += static_cast<double>(value[static_cast<std::size_t>((head * mask.cols + j) * n + l)]) *
                static_cast<double>(output_gradient[static_cast<std::size_t>((head * mask.rows + i) * n + l)]);
      weighted += weight * gain;
      total += weight;
    }
    return total > 0 ? weighted / total : 0;
  }

  double loss() const {
    double sum = 0;
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t i = 0; i < mask.rows; ++i) sum += row_loss(head, i);
    return sum;
  }
};

struct Gradients {
  std::vector<float> query, key, value;
};

Gradients run(const Context& context, const Block& block, Saved saved) {
  device::Device& device = device_of(context);
  const Topology mask = context.topology(block.mask.view());
  const SparseAttention problem{.n = block.n, .batch = block.heads, .saved = saved};
  const AttentionPlan forward = context.plan(problem, mask);
  const AttentionBackwardPlan backward = context.plan(SparseAttentionBackward{.forward = problem}, mask);
  const auto poisoned = [&](const std::vector<float>& like) {
    return Floats(device, std::vector<float>(like.size(), NAN));
  };
  const Floats query(device, block.query), key(device, block.key), value(device, block.value),
      gradient(device, block.output_gradient);
  const Floats output = poisoned(block.output_gradient), dq = poisoned(block.query), dk = poisoned(block.key),
               dv = poisoned(block.value);
  const device::Buffer kept(device, std::max<std::int64_t>(forward.saved_bytes(), 256));
  void* const given = saved != Saved::none ? kept.data() : nullptr;
  const Workspace forward_workspace = forward.make_workspace(), backward_workspace = backward.make_workspace();
  forward.execute(nullptr, {.query = query.data(),
                            .key = key.data(),
                            .value = value.data(),
                            .output = output.data(),
                            .saved = given,
                            .workspace = forward_workspace});
  backward.execute(nullptr, {.query = query.data(),
                             .key = key.data(),
                             .value = value.data(),
                             .output = saved == Saved::row_statistics ? output.data() : nullptr,
                             .output_gradient = gradient.data(),
                             .saved = given,
                             .query_gradient = dq.data(),
                             .key_gradient = dk.data(),
                             .value_gradient = dv.data(),
                             .workspace = backward_workspace});
  device.synchronize(nullptr);
  return {.query = dq.read(), .key = dk.read(), .value = dv.read()};
}

}  // namespace

TEST_CASE(
    "the gradients of a sparse attention block agree with float64 finite differences, whatever the forward pass "
    "saves") {
  MESSAGE("seed " << seed);
  Block block;
  const auto loss = [&] { return block.loss(); };
  const std::vector<double> query = finite_differences(block.query, loss), key = finite_differences(block.key, loss),
                            value = finite_differences(block.value, loss);
  // The loss has third derivatives: a step of 2^-10 leaves about 1e-6 of the gradient.
  constexpr double tolerance = 1e-5;
  for (const std::string& name : device_names()) {
    const Context context = memory_context(name);
    for (const Saved saved : {Saved::none, Saved::probabilities, Saved::row_statistics}) {
      CAPTURE(name);
      CAPTURE(std::string(vostok::name(saved)));
      const Gradients found = run(context, block, saved);
      CHECK(distance(found.query, query) < tolerance);
      CHECK(distance(found.key, key) < tolerance);
      CHECK(distance(found.value, value) < tolerance);
    }
  }
}
