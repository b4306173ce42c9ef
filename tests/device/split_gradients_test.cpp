// Gradients of attention of f32, which kernels multiply as 16-bit terms: lines that differ by many decades, against
// float64. What an element of a gradient may be off is a share of the magnitudes that were added up for its line.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/checked.hpp"
#include "device/contract.hpp"
#include "device/devices.hpp"
#include "device/finite_differences.hpp"
#include "ops/attention/problem.hpp"
#include "ops/families.hpp"
#include "sparse/attention_reference.hpp"
#include "sparse/generate.hpp"

using namespace vostok;

namespace {

constexpr std::int64_t queries = 90, keys = 110, size = 32;

struct Attended {
  sparse::Csr mask = sparse::uniform(queries, keys, 0.7, 23);
  SparseAttention problem;
  std::vector<float> query, key, value, output_gradient;
  float scale = 0.25F;

  explicit Attended(std::uint64_t seed, const SparseAttention& of)
      : problem(of),
        query(drawn(queries, seed)),
        key(drawn(keys, seed + 1)),
        value(drawn(keys, seed + 2)),
        output_gradient(drawn(queries, seed + 3)) {
    problem.n = size;
  }
  static std::vector<float> drawn(std::int64_t rows, std::uint64_t seed) {
    return test::drawn(test::ordinary_distributions().front(), rows * size, seed);
  }

  float softcap() const { return problem.capped ? 1.5F : 0.0F; }
  static sparse::DenseView view(const std::vector<float>& lines) { return {.data = lines.data(), .row_step = size}; }
  sparse::AttentionHead head() const {
    return {.query = view(query),
            .key = view(key),
            .value = view(value),
            .n = size,
            .value_size = size,
            .scale = scale,
            .softcap = softcap()};
  }
  sparse::Csr seen() const { return problem.causal ? sparse::causal_mask(mask) : mask; }
};

struct Gradients {
  std::vector<float> by_query, by_key, by_value;
};

/// Plans of a problem, for operands of any kind.
struct Plans {
  device::Device& device;
  AttentionPlan forward;
  AttentionBackwardPlan backward;

  Plans(const Context& context, const Attended& of, const std::string& family)
      : Plans(context, of.problem, context.topology(of.mask.view()), family) {}
  Plans(const Context& context, const SparseAttention& problem, const Topology& topology, const std::string& family)
      : device(test::device_of(context)),
        forward(context.plan(problem, topology)),
        backward(context.plan(SparseAttentionBackward{.forward = problem}, topology, PlanOptions{.family = family})) {}
};

Gradients run(const Plans& plans, const Attended& of) {
  const auto& [device, forward, backward] = plans;
  const test::Floats query(device, of.query), key(device, of.key), value(device, of.value),
      gradient(device, of.output_gradient);
  const auto poisoned = [&](const std::vector<float>& like) {
    return test::Floats(device, std::vector<float>(like.size(), NAN));
  };
  const test::Floats output = poisoned(of.query), by_query = poisoned(of.query), by_key = poisoned(of.key),
                     by_value = poisoned(of.value);
  const device::Buffer saved(device, round_up(std::max<std::int64_t>(forward.saved_bytes(), 1), 256));
  const bool saves = of.problem.saved == Saved::row_statistics;
  const Workspace forward_space = forward.make_workspace(), backward_space = backward.make_workspace();
  forward.execute(nullptr, {.query = query.data(),
                            .key = key.data(),
                            .value = value.data(),
                            .output = output.data(),
                            .saved = saves ? saved.data() : nullptr,
                            .scale = of.scale,
                            .softcap = of.softcap(),
                            .workspace = forward_space});
  backward.execute(nullptr, {.query = query.data(),
                             .key = key.data(),
                             .value = value.data(),
                             .output = saves ? output.data() : nullptr,
                             .output_gradient = gradient.data(),
                             .saved = saves ? saved.data() : nullptr,
                             .query_gradient = by_query.data(),
                             .key_gradient = by_key.data(),
                             .value_gradient = by_value.data(),
                             .scale = of.scale,
                             .softcap = of.softcap(),
                             .workspace = backward_space});
  device.synchronize(nullptr);
  return {by_query.read(), by_key.read(), by_value.read()};
}

double largest_of(const std::vector<float>& lines, std::int64_t line) {
  double largest = 0;
  for (std::int64_t d = 0; d < size; ++d) largest = std::max(largest, std::fabs(double{lines[line * size + d]}));
  return largest;
}

/// Of each line of the gradients, what is added up for it: probabilities times the magnitudes that cancel in gradients
/// of scores, times the largest element of the line that they multiply.
struct Magnitudes {
  std::vector<double> by_query = std::vector<double>(queries), by_key = std::vector<double>(keys),
                      by_value = std::vector<double>(keys);
  double score = 0;  ///< the most that is added up for a score
};

double product_of_magnitudes(const std::vector<float>& lines, std::int64_t line, const std::vector<float>& others,
                             std::int64_t other) {
  double sum = 0;
  for (std::int64_t d = 0; d < size; ++d)
    sum += std::fabs(double{lines[line * size + d]} * double{others[other * size + d]});
  return sum;
}

Magnitudes magnitudes(const Attended& of) {
  const sparse::Csr seen = of.seen();
  const std::vector<double> probabilities = sparse::attention(seen, of.head()).probabilities;
  Magnitudes all;
  for (std::int64_t row = 0; row < queries; ++row) {
    std::vector<double> products;
    double weighted = 0;
    for (std::int64_t i = seen.row_offsets[row]; i < seen.row_offsets[row + 1]; ++i) {
      const std::int64_t key = seen.column_indices[i];
      const double product = product_of_magnitudes(of.output_gradient, row, of.value, key);
      all.score = std::max(all.score, std::fabs(of.scale) * product_of_magnitudes(of.query, row, of.key, key));
      products.push_back(product);
      weighted += probabilities[i] * product;
    }
    for (std::int64_t i = seen.row_offsets[row]; i < seen.row_offsets[row + 1]; ++i) {
      const std::int64_t key = seen.column_indices[i];
      const double score = probabilities[i] * std::fabs(of.scale) * (products[i - seen.row_offsets[row]] + weighted);
      all.by_query[row] += score * largest_of(of.key, key);
      all.by_key[key] += score * largest_of(of.query, row);
      all.by_value[key] += probabilities[i] * largest_of(of.output_gradient, row);
    }
  }
  return all;
}

/// The worst error of an element, as a share of its line's magnitudes. What is below f32's normal numbers is passed.
double worst(const std::vector<float>& found, const std::vector<double>& exact, const std::vector<double>& magnitudes) {
  double most = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double magnitude = magnitudes[i / size], error = std::fabs(found[i] - exact[i]);
    if (!std::isfinite(found[i])) return std::numeric_limits<double>::infinity();
    if (error > 1e-36) most = std::max(most, error / magnitude);
  }
  return most;
}

void check(const Plans& plans, const Attended& of) {
  const sparse::AttentionGradients exact =
      sparse::attention_gradients(of.seen(), of.head(), Attended::view(of.output_gradient));
  const Magnitudes all = magnitudes(of);
  // An error of a score is that share of its probability.
  const double tolerance = of.problem.math == Math::tf32 ? 4e-3 + 0x1p-11 * all.score : 1e-5 + 0x1p-22 * all.score;
  const Gradients found = run(plans, of);
  CHECK(worst(found.by_query, exact.query, all.by_query) <= tolerance);
  CHECK(worst(found.by_key, exact.key, all.by_key) <= tolerance);
  CHECK(worst(found.by_value, exact.value, all.by_value) <= tolerance);
}

using Lines = std::vector<float>;

/// Multiplies each line by a factor.
template <class Factor>
void multiply_lines(Lines& lines, Factor factor) {
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] *= factor(static_cast<std::int64_t>(i) / size);
}

/// Columns of one operand multiplied, and of another divided, so that products of lines stay as they are.
void compensate(Lines& one, Lines& other) {
  const auto factor = [](std::size_t i) { return std::pow(10.0F, static_cast<float>(i % 13) - 6); };
  for (std::size_t i = 0; i < one.size(); ++i) one[i] *= factor(i % size);
  for (std::size_t i = 0; i < other.size(); ++i) other[i] /= factor(i % size);
}

/// What a problem's lines look like.
struct Kind {
  const char* name;
  void (*apply)(Attended& of);
};

float decades(std::int64_t line, std::int64_t most) {
  return std::pow(10.0F, static_cast<float>(line % (2 * most + 1) - most));
}

constexpr Kind kinds[] = {
    {"ordinary lines", [](Attended&) {}},
    {"each value its own decade",
     [](Attended& of) { multiply_lines(of.value, [](auto i) { return decades(i, 12); }); }},
    {"each output's gradient its own decade",
     [](Attended& of) { multiply_lines(of.output_gradient, [](auto i) { return decades(i, 12); }); }},
    {"each key and query its own decade",
     [](Attended& of) {
       multiply_lines(of.key, [](auto i) { return decades(i, 2); });
       multiply_lines(of.query, [](auto i) { return decades(i, 1); });
     }},
    {"keys all small",
     [](Attended& of) {
       multiply_lines(of.key, [](auto) { return 1e-18F; });
       of.scale = 1e18F;
     }},
    {"keys all large",
     [](Attended& of) {
       multiply_lines(of.key, [](auto) { return 1e18F; });
       of.scale = 1e-18F;
     }},
    {"values all small", [](Attended& of) { multiply_lines(of.value, [](auto) { return 1e-25F; }); }},
    {"values large, gradients small",
     [](Attended& of) {
       multiply_lines(of.value, [](auto) { return 1e30F; });
       multiply_lines(of.output_gradient, [](auto) { return 1e-30F; });
     }},
    {"lines of zeros among others",
     [](Attended& of) {
       const auto gaps = [](std::int64_t i) { return i % 3 == 0 ? 0.0F : 1.0F; };
       for (Lines* lines : {&of.query, &of.key, &of.value, &of.output_gradient}) multiply_lines(*lines, gaps);
     }},
    {"zeros alone", [](Attended& of) { multiply_lines(of.output_gradient, [](auto) { return 0.0F; }); }},
    {"queries and keys that make up for each other", [](Attended& of) { compensate(of.query, of.key); }},
    {"values and gradients that make up for each other",
     [](Attended& of) { compensate(of.value, of.output_gradient); }},
    {"scores of hundreds", [](Attended& of) { of.scale = 40; }},
    {"a negative scale", [](Attended& of) { of.scale = -0.5F; }},
};

/// That make gradients of f32.
std::vector<std::string> families_of(const Context& context) {
  const std::string& device = test::device_of(context).architecture();
  if (ops::make_fused_backward_pair()->runs_on(device)) return {"fused_backward", "fused_backward_pair"};
  MESSAGE("fused_backward_pair skipped: it does not run on " << device);
  return {"fused_backward"};
}

}  // namespace

TEST_CASE("gradients of f32 by terms: lines of any size stay within a share of their magnitudes") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4521;
  MESSAGE("seed " << seed);
  const SparseAttention problems[] = {{},
                                      {.saved = Saved::row_statistics},
                                      {.saved = Saved::row_statistics, .capped = true, .causal = true},
                                      {.math = Math::tf32, .saved = Saved::row_statistics}};
  test::on_every_device([&](const Context& context) {
    for (const SparseAttention& problem : problems) {
      CAPTURE(problem.capped);
      CAPTURE(std::string(name(problem.math)));
      CAPTURE(std::string(name(problem.saved)));
      for (const std::string& family : families_of(context)) {
        CAPTURE(family);
        const Plans plans(context, Attended(seed, problem), family);
        for (const Kind& kind : kinds) {
          CAPTURE(std::string(kind.name));
          Attended of(seed, plans.forward.problem());
          kind.apply(of);
          check(plans, of);
        }
      }
    }
  });
}
