// The contract of products holds for attention, whatever kernels its steps run on: see contract.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "device/contract.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::int64_t tokens = 192;
constexpr std::int64_t size = 64;
constexpr float scale = 0.125F;

/// One head. Every seventh key has no query.
struct Attended {
  sparse::Csr mask;
  Dtype element = Dtype::f32;
  std::vector<float> query = {}, key = {}, value = {};  ///< [tokens, size]
};

bool has_no_query(std::int64_t key) { return key % 7 == 0; }

Attended attended(Dtype element, std::uint64_t seed) {
  const sparse::Csr source = sparse::uniform(tokens, tokens, 0.6, seed);
  Attended of{.mask = {.rows = tokens, .cols = tokens}, .element = element};
  for (std::int64_t row = 0; row < tokens; ++row) {
    for (std::int64_t entry = source.row_offsets[row]; entry < source.row_offsets[row + 1]; ++entry)
      if (!has_no_query(source.column_indices[entry])) of.mask.column_indices.push_back(source.column_indices[entry]);
    of.mask.row_offsets.push_back(of.mask.nonzeros());
  }
  const Distribution& normal = ordinary_distributions().front();
  of.query = held(element, drawn(normal, tokens * size, seed + 1));
  of.key = held(element, drawn(normal, tokens * size, seed + 2));
  of.value = held(element, drawn(normal, tokens * size, seed + 3));
  return of;
}

/// The output, by a family or by whichever is expected to be fastest, and the gradients by query, key and value of a
/// gradient that is the query.
std::vector<std::vector<float>> run(const Context& context, const Attended& of, const char* family = "") {
  device::Device& device = device_of(context);
  const Topology topology = context.topology(of.mask.view());
  const SparseAttention problem{.n = size, .element = of.element};
  const AttentionPlan forward = context.plan(problem, topology, {.family = family});
  const AttentionBackwardPlan backward = context.plan(SparseAttentionBackward{.forward = problem}, topology);
  const device::Buffer query = stored(device, of.element, of.query), key = stored(device, of.element, of.key),
                       value = stored(device, of.element, of.value);
  const std::vector<float> holes(of.query.size(), std::numeric_limits<float>::quiet_NaN());
  const device::Buffer output = stored(device, of.element, holes), by_query = stored(device, of.element, holes),
                       by_key = stored(device, of.element, holes), by_value = stored(device, of.element, holes);
  const Workspace space = forward.make_workspace(), backward_space = backward.make_workspace();
  const Stream stream = device.own_stream();
  forward.execute(stream, {.query = query.data(),
                           .key = key.data(),
                           .value = value.data(),
                           .output = output.data(),
                           .scale = scale,
                           .workspace = space});
  backward.execute(stream, {.query = query.data(),
                            .key = key.data(),
                            .value = value.data(),
                            .output_gradient = query.data(),
                            .query_gradient = by_query.data(),
                            .key_gradient = by_key.data(),
                            .value_gradient = by_value.data(),
                            .scale = scale,
                            .workspace = backward_space});
  device.synchronize(stream);
  std::vector<std::vector<float>> found;
  for (const device::Buffer* buffer : {&output, &by_query, &by_key, &by_value}) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer->bytes()));
    device.copy_to_host(bytes.data(), buffer->data(), buffer->bytes());
    found.push_back(sparse::from_storage(of.element, bytes));
  }
  return found;
}

/// The output in float64.
std::vector<double> exact_output(const Attended& of) {
  std::vector<double> output(of.query.size(), 0);
  for (std::int64_t row = 0; row < tokens; ++row) {
    const std::int64_t first = of.mask.row_offsets[row], last = of.mask.row_offsets[row + 1];
    std::vector<double> scores;
    for (std::int64_t entry = first; entry < last; ++entry) {
      double score = 0;
      for (std::int64_t i = 0; i < size; ++i)
        score += static_cast<double>(of.query[row * size + i]) * of.key[of.mask.column_indices[entry] * size + i];
      scores.push_back(scale * score);
    }
    if (scores.empty()) continue;
    const double largest = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = std::exp(score - largest);
    for (std::int64_t entry = first; entry < last; ++entry)
      for (std::int64_t i = 0; i < size; ++i)
        output[row * size + i] += scores[entry - first] / total * of.value[of.mask.column_indices[entry] * size + i];
  }
  return output;
}

}  // namespace

TEST_CASE("attention: keys and values that no query names change nothing, whatever they hold, forward and backward") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3431;
  MESSAGE("seed " << seed);
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const EveryDevice devices;
  for (const Dtype element : {Dtype::f32, Dtype::f16}) {
    CAPTURE(name(element));
    const Attended usual = attended(element, seed);
    Attended others = usual;
    const float held_there[] = {nan, infinity, -infinity, element == Dtype::f32 ? 3e38F : 65504.0F};
    for (std::int64_t key = 0; key < tokens; ++key)
      if (has_no_query(key))
        for (std::int64_t i = 0; i < size; ++i)
          others.key[key * size + i] = others.value[key * size + i] = held_there[(key / 7 + i) % 4];
    devices.each([&](const Context& context) {
      const auto expected = run(context, usual), found = run(context, others);
      for (std::size_t part = 0; part < expected.size(); ++part) {
        CAPTURE(part);
        CHECK(expected[part] == found[part]);  // and none is NaN
      }
    });
  }
}

TEST_CASE("attention of queries and keys that make up for each other over 12 decades keeps its output") {
  if (left_to_other_builds()) return;
  constexpr std::uint64_t seed = 3432;
  MESSAGE("seed " << seed);
  Attended of = attended(Dtype::f32, seed);
  sparse::Random random(seed);
  for (std::int64_t i = 0; i < size; ++i) {
    const float factor = std::fabs(log_uniform(random, 12));
    for (std::int64_t token = 0; token < tokens; ++token) {
      of.query[token * size + i] /= factor;
      of.key[token * size + i] *= factor;
    }
  }
  const std::vector<double> exact = exact_output(of);
  const EveryDevice devices;
  devices.each([&](const Context& context) {
    for (const char* const family : {"composed", "fused_mma", "fused_wgmma"}) {
      if (family == std::string("fused_wgmma") && device_of(context).architecture() != "sm_90") continue;
      CAPTURE(family);
      const std::vector<float> output = run(context, of, family).front();
      double error = 0, whole = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        error += (output[i] - exact[i]) * (output[i] - exact[i]);
        whole += exact[i] * exact[i];
      }
      // A score errs by 2^-16 of its magnitudes, here about 5, at most; its probability by that share.
      CHECK(std::sqrt(error / whole) <= 1e-4);
    }
  });
}
