// Attention in one kernel against float64: what keys hold that a query does not name, scores that are large or
// infinite, and negative scales.
#include <doctest/doctest.h>

#include <abi/dropout.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "device/contract.hpp"
#include "device/fused_attention_harness.hpp"
#include "device/topology_harness.hpp"
#include "ops/attention/problem.hpp"
#include "ops/families.hpp"

using namespace vostok;

namespace {

/// The families that run on a context's device, by name; of wide heads the one that takes all of them.
std::vector<std::string> families_of(const Context& context, const SparseAttention& problem) {
  std::vector<std::string> names;
  for (const auto& family : {ops::make_fused_mma(), ops::make_fused_wgmma()})
    if (family->runs_on(test::device_of(context).architecture())) names.emplace_back(family->name());
  if (problem.n > 128) names.resize(1);
  return names;
}

constexpr std::int64_t queries = 100, keys = 150, usual_size = 32;

/// In f16, or where the problem says so in f32.
struct Attended {
  sparse::Csr mask = sparse::uniform(queries, keys, 0.7, 11);
  SparseAttention problem;
  std::vector<float> query, key, value;
  std::vector<float> bias;  ///< that all heads share
  float scale = 0.25F;
  float softcap = 0;
  float dropout = 0;
  std::array<std::uint64_t, 2> dropout_state;

  explicit Attended(std::uint64_t seed, const SparseAttention& of = {.element = Dtype::f16})
      : problem(with_size(of)),
        query(drawn(of.batch * queries, seed)),
        key(drawn(ops::key_heads_of(of) * keys, seed + 1)),
        value(drawn(ops::key_heads_of(of) * keys, seed + 2)),
        dropout_state{seed + 3, 7} {
    if (problem.capped) softcap = 1.5F;
    if (problem.dropped) dropout = 0.25F;
    if (problem.biased) bias = drawn(mask.nonzeros(), seed + 4);
    bias.resize(static_cast<std::size_t>(mask.nonzeros()));
  }

  static SparseAttention with_size(SparseAttention problem) {
    if (problem.n == 0) problem.n = usual_size;
    return problem;
  }
  std::vector<float> drawn(std::int64_t rows, std::uint64_t seed) const {
    return test::held(problem.element, test::drawn(test::ordinary_distributions().front(), rows * problem.n, seed));
  }
};

std::vector<float> run(const Context& context, const Attended& of, const std::string& family) {
  device::Device& device = test::device_of(context);
  const AttentionPlan plan = context.plan(of.problem, context.topology(of.mask.view()), PlanOptions{.family = family});
  CHECK(plan.family() == family);
  const Dtype element = of.problem.element;
  const device::Buffer query = test::stored(device, element, of.query), key = test::stored(device, element, of.key),
                       value = test::stored(device, element, of.value), bias = test::stored(device, element, of.bias),
                       output = test::stored(device, element, std::vector<float>(of.query.size(), -7));
  const device::Buffer state(device, sizeof(of.dropout_state));
  device.copy_to_device(state.data(), of.dropout_state.data(), sizeof(of.dropout_state));
  const Workspace workspace = plan.make_workspace();
  plan.execute(device.own_stream(), {.query = query.data(),
                                     .key = key.data(),
                                     .value = value.data(),
                                     .bias = of.problem.biased ? bias.data() : nullptr,
                                     .output = output.data(),
                                     .scale = of.scale,
                                     .softcap = of.softcap,
                                     .workspace = workspace,
                                     .dropout = of.dropout,
                                     .dropout_state = of.problem.dropped ? state.as<std::uint64_t>() : nullptr});
  device.synchronize(device.own_stream());
  std::vector<std::byte> bytes(static_cast<std::size_t>(output.bytes()));
  device.copy_to_host(bytes.data(), output.data(), output.bytes());
  return sparse::from_storage(element, bytes);
}

/// An element of the mask that a query sees.
struct Seen {
  std::int64_t key;
  double score;
  bool kept;
};

std::vector<Seen> seen_by(const Attended& of, std::int64_t head, std::int64_t row) {
  const std::int64_t first_key = head / ops::group_of(of.problem) * keys, size = of.problem.n;
  const float* const query = of.query.data() + (head * queries + row) * size;
  const DropoutKey dropout = dropout_key(of.dropout_state[0], of.dropout_state[1], static_cast<std::uint64_t>(head));
  std::vector<Seen> list;
  for (std::int64_t i = of.mask.row_offsets[row]; i < of.mask.row_offsets[row + 1]; ++i) {
    const std::int32_t column = of.mask.column_indices[i];
    if (of.problem.causal && column > row + keys - queries) continue;
    const std::int64_t key = first_key + column;
    double score = 0;
    for (std::int64_t d = 0; d < size; ++d) score += static_cast<double>(query[d]) * of.key[key * size + d];
    score *= of.scale;
    if (of.problem.capped) score = of.softcap * std::tanh(score / of.softcap);
    const bool kept =
        dropout_number(dropout, static_cast<unsigned>(row), static_cast<unsigned>(column)) >= dropped_below(of.dropout);
    list.push_back({.key = key, .score = score + of.bias[i], .kept = !of.problem.dropped || kept});
  }
  return list;
}

/// In float64, by IEEE's rules, of what each query names and sees.
std::vector<double> exact(const Attended& of) {
  const std::int64_t size = of.problem.n;
  std::vector<double> output(of.query.size(), 0);
  for (std::int64_t line = 0; line < of.problem.batch * queries; ++line) {
    const std::vector<Seen> seen = seen_by(of, line / queries, line % queries);
    double largest = seen.empty() ? 0 : seen.front().score, total = 0;
    for (const Seen& one : seen) largest = std::max(largest, one.score);
    for (const Seen& one : seen) total += std::exp(one.score - largest);
    for (const Seen& one : seen)
      for (std::int64_t d = 0; d < size && one.kept; ++d)
        output[line * size + d] +=
            std::exp(one.score - largest) / total / (1 - of.dropout) * of.value[one.key * size + d];
  }
  return output;
}

/// As close as the type allows, and NaN where that is exact.
void check_close(const SparseAttention& problem, const std::vector<float>& found, const std::vector<double>& expected) {
  double error = 0, whole = 0;
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!std::isfinite(expected[i])) {
      wrong += std::isnan(expected[i]) ? !std::isnan(found[i]) : found[i] != expected[i];
      continue;
    }
    error += (found[i] - expected[i]) * (found[i] - expected[i]);
    whole += expected[i] * expected[i];
  }
  CHECK(wrong == 0);
  const double tolerance = problem.element == Dtype::f16 ? 1.5e-3 : problem.math == Math::tf32 ? 2e-3 : 4e-6;
  CHECK(std::sqrt(error) <= tolerance * std::sqrt(whole));  // NaN, where one should not be, is not below
}

void check_every_family(const Attended& of) {
  const std::vector<double> expected = exact(of);
  test::on_every_device([&](const Context& context) {
    for (const std::string& family : families_of(context, of.problem)) {
      CAPTURE(family);
      check_close(of.problem, run(context, of, family), expected);
    }
  });
}

}  // namespace

TEST_CASE("attention in one kernel: keys and values touch the queries that name them, whatever they hold") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4502;
  MESSAGE("seed " << seed);
  constexpr Dtype f16 = Dtype::f16, f32 = Dtype::f32;
  const SparseAttention problems[] = {{.element = f16},
                                      {.batch = 4, .key_heads = 2, .element = f16},
                                      {.element = f16, .capped = true},
                                      {.element = f16, .causal = true},
                                      {.element = f16, .capped = true, .causal = true},
                                      {.element = f32},
                                      {.batch = 4, .key_heads = 2, .element = f32},
                                      {.element = f32, .math = Math::tf32},
                                      {.element = f32, .capped = true},
                                      {.element = f32, .causal = true},
                                      {.batch = 4, .key_heads = 2, .element = f32, .biased = true, .dropped = true},
                                      {.n = 200, .element = f32},
                                      {.n = 256, .batch = 2, .element = f32, .capped = true, .biased = true}};
  for (const SparseAttention& problem : problems) {
    INFO("of " << std::string(name(problem.element)));
    CAPTURE(problem.batch);
    CAPTURE(problem.capped);
    CAPTURE(problem.causal);
    CAPTURE(problem.biased);
    CAPTURE(problem.n);
    Attended of(seed, problem);
    const std::int64_t size = of.problem.n;
    const float held_there[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(), 65504.0F};
    const std::int64_t last_head = (ops::key_heads_of(problem) - 1) * keys;  // the others are as usual
    for (int i = 0; i < 4; ++i) {
      of.value[(last_head + 20 + std::int64_t{31} * i) * size + 5 + i] = held_there[i];
      of.key[(last_head + 9 + std::int64_t{31} * i) * size + 3] = held_there[i];
    }
    const std::vector<double> expected = exact(of);
    CHECK(std::count_if(expected.begin(), expected.end(), [](double x) { return std::isfinite(x); }) >
          queries * size / 8);
    check_every_family(of);
  }
}

TEST_CASE("attention in one kernel: scores of any size, and scales of either sign") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4503;
  MESSAGE("seed " << seed);
  for (const Dtype element : {Dtype::f16, Dtype::f32})
    for (const float scale : {1.0F, -0.5F, 100.0F, 1e-6F}) {
      INFO("of " << std::string(name(element)));
      CAPTURE(scale);
      Attended of(seed, {.element = element});
      of.scale = scale;
      for (std::int64_t i = 0; i < usual_size; ++i) of.query[7 * usual_size + i] *= 64;
      check_every_family(of);
    }
}

TEST_CASE("attention in one kernel: lines of f32 that differ by many decades, and values that are zeros") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4509;
  MESSAGE("seed " << seed);
  const auto factor_of = [](const std::string& kind, std::int64_t key) {
    if (kind == "each line its own") return std::pow(10.0F, static_cast<float>(key % 25 - 12));
    if (kind == "all small") return 1e-30F;
    if (kind == "all large") return 1e30F;
    if (kind == "large for small queries") return 1e35F;
    if (kind == "zeros among others") return key % 3 == 0 ? 0.0F : 1.0F;
    if (kind == "zeros alone") return 0.0F;
    return 1.0F;
  };
  const SparseAttention problems[] = {
      {}, {.capped = true}, {.capped = true, .causal = true, .biased = true, .dropped = true}};
  for (const std::string kind : {"each line its own", "all small", "all large", "large for small queries",
                                 "small where queries are large", "zeros among others", "zeros alone"})
    for (const SparseAttention& problem : problems) {
      CAPTURE(kind);
      CAPTURE(problem.capped);
      CAPTURE(problem.biased);
      Attended of(seed, problem);
      for (std::int64_t i = 0; i < keys * usual_size; ++i) {
        of.value[i] *= factor_of(kind, i / usual_size);
        if (kind != "each line its own") of.key[i] *= factor_of(kind, i / usual_size);
      }
      if (kind == "all small") of.scale = 1e30F;
      if (kind == "all large") of.scale = 1e-30F;
      if (kind == "small where queries are large") {
        const auto factor = [](std::int64_t i) { return std::pow(10.0F, static_cast<float>(i % 13 - 6)); };
        for (std::int64_t i = 0; i < keys * usual_size; ++i) of.key[i] *= factor(i % usual_size);
        for (std::int64_t i = 0; i < queries * usual_size; ++i) of.query[i] /= factor(i % usual_size);
      }
      if (kind == "large for small queries") {
        of.scale = 1e-2F;
        for (float& one : of.query) one *= 1e-33F;
      }
      check_every_family(of);
    }
}

TEST_CASE("attention in one kernel: capped scores of any size, and scales of either sign") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4505;
  MESSAGE("seed " << seed);
  struct Sizes {
    float softcap, scale;
  };
  constexpr Sizes all[] = {{50, 0.25F}, {50, -1}, {0.75F, -1}, {0.75F, 100}, {1e-3F, 0.25F}, {1e-3F, 100}, {1e30F, -1}};
  for (const Dtype element : {Dtype::f16, Dtype::f32})
    for (const Sizes& sizes : all) {
      INFO("of " << std::string(name(element)));
      CAPTURE(sizes.softcap);
      CAPTURE(sizes.scale);
      Attended of(seed, {.element = element, .capped = true});
      of.scale = sizes.scale;
      of.softcap = sizes.softcap;
      for (std::int64_t i = 0; i < usual_size; ++i) of.query[7 * usual_size + i] *= 64;
      check_every_family(of);
    }
}
