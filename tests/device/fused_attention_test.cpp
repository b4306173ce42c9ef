// Attention in one kernel: configs of each family's space against float64, what keys hold that a query does not name,
// scores that are large or infinite, and negative scales.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/contract.hpp"
#include "device/family_run.hpp"
#include "device/fused_attention_harness.hpp"
#include "device/topology_harness.hpp"
#include "ops/attention/problem.hpp"
#include "ops/families.hpp"
#include "plan/attention_steps.hpp"
#include "tune/attention_case.hpp"

using namespace vostok;

namespace {

/// A family, and values to try of its configs.
struct Tried {
  std::unique_ptr<ops::Family> family;
  test::FieldValues values;
};

const std::vector<Tried>& tried() {
  static const std::vector<Tried> list = [] {
    std::vector<Tried> made;
    made.push_back({ops::make_fused_mma(),
                    {{"warps", {"1", "2", "4", "8"}},
                     {"warp_strips", {"1", "2"}},
                     {"step_keys", {"16", "32", "64"}},
                     {"stages", {"2", "3", "4"}},
                     {"slices", {"1", "2", "3", "5"}},
                     {"min_blocks", {"1", "2"}},
                     {"keeps_queries", {"false", "true"}}}});
    made.push_back({ops::make_fused_wgmma(),
                    {{"groups", {"1", "2", "3"}},
                     {"stages", {"2", "3", "5"}},
                     {"step_tiles", {"1", "2"}},
                     {"slices", {"1", "2", "3", "5"}},
                     {"min_blocks", {"1", "2"}},
                     {"keeps_queries", {"false", "true"}}}});
    return made;
  }();
  return list;
}

tune::Check run(const test::StepDevice& on, const ops::Family& family, const SparseAttention& problem,
                const sparse::Csr& mask, const ops::Config& config) {
  const auto topology = on.topology(mask.view());
  const auto query = ops::make_query(problem, topology->statistics(), &on.device());
  const std::int64_t saved =
      plan::AttentionSteps(query->attention(), query->statistics, query->attention().batch).saved_bytes();
  tune::AttentionCase operands(on.device(), query->attention(), mask, 5, saved);
  return test::run_family(on.device(), family, *query, config, topology->pointers(family.needs(*query, config)),
                          operands);
}

void check(const test::StepDevice& on, const ops::Family& family, const SparseAttention& problem,
           const sparse::Csr& mask, const ops::Config& config) {
  INFO(on.on.name << ": " << mask.rows << " x " << mask.cols << ", " << mask.nonzeros() << " nonzeros, n " << problem.n
                  << ", value_size " << problem.value_size << ", batch " << problem.batch << ", "
                  << name(problem.element) << ", " << family.name() << " " << to_text(config.to_map()));
  const tune::Check check = run(on, family, problem, mask, config);
  CAPTURE(check.error);
  CAPTURE(check.tolerance);
  CHECK_MESSAGE(check.wrong.empty(), check.wrong);
}

/// The families that run on a context's device, by name.
std::vector<std::string> families_of(const Context& context) {
  std::vector<std::string> names;
  for (const Tried& one : tried())
    if (one.family->runs_on(test::device_of(context).architecture())) names.emplace_back(one.family->name());
  return names;
}

constexpr std::int64_t queries = 100, keys = 150, size = 32;

/// One head in f16.
struct Attended {
  sparse::Csr mask = sparse::uniform(queries, keys, 0.7, 11);
  std::vector<float> query, key, value;
  float scale = 0.25F;

  explicit Attended(std::uint64_t seed)
      : query(drawn(queries, seed)), key(drawn(keys, seed + 1)), value(drawn(keys, seed + 2)) {}

  static std::vector<float> drawn(std::int64_t rows, std::uint64_t seed) {
    return test::held(Dtype::f16, test::drawn(test::ordinary_distributions().front(), rows * size, seed));
  }
};

std::vector<float> run(const Context& context, const Attended& of, const std::string& family) {
  device::Device& device = test::device_of(context);
  const AttentionPlan plan = context.plan(SparseAttention{.n = size, .element = Dtype::f16},
                                          context.topology(of.mask.view()), PlanOptions{.family = family});
  CHECK(plan.family() == family);
  const device::Buffer query = test::stored(device, Dtype::f16, of.query),
                       key = test::stored(device, Dtype::f16, of.key),
                       value = test::stored(device, Dtype::f16, of.value),
                       output = test::stored(device, Dtype::f16, std::vector<float>(queries * size, -7));
  const Workspace workspace = plan.make_workspace();
  plan.execute(device.own_stream(), {.query = query.data(),
                                     .key = key.data(),
                                     .value = value.data(),
                                     .output = output.data(),
                                     .scale = of.scale,
                                     .workspace = workspace});
  device.synchronize(device.own_stream());
  std::vector<std::byte> bytes(static_cast<std::size_t>(output.bytes()));
  device.copy_to_host(bytes.data(), output.data(), output.bytes());
  return sparse::from_storage(Dtype::f16, bytes);
}

/// In float64, by IEEE's rules, of what each query names.
std::vector<double> exact(const Attended& of) {
  std::vector<double> output(queries * size, 0);
  for (std::int64_t row = 0; row < queries; ++row) {
    std::vector<double> scores;
    for (std::int64_t i = of.mask.row_offsets[row]; i < of.mask.row_offsets[row + 1]; ++i) {
      double score = 0;
      for (std::int64_t d = 0; d < size; ++d)
        score += static_cast<double>(of.query[row * size + d]) * of.key[of.mask.column_indices[i] * size + d];
      scores.push_back(score * of.scale);
    }
    const double largest = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = std::exp(score - largest);
    for (std::size_t i = 0; i < scores.size(); ++i)
      for (std::int64_t d = 0; d < size; ++d)
        output[row * size + d] +=
            scores[i] / total *
            of.value[of.mask.column_indices[of.mask.row_offsets[row] + static_cast<std::int64_t>(i)] * size + d];
  }
  return output;
}

/// As close as f16 allows, and NaN where that is exact.
void check_close(const std::vector<float>& found, const std::vector<double>& expected) {
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
  CHECK(std::sqrt(error / whole) <= 1.5e-3);  // NaN, where one should not be, is not below
}

}  // namespace

TEST_CASE("attention in one kernel: configs of the space, and others, on random problems") {
  constexpr std::uint64_t seed = 4501;
  MESSAGE("seed " << seed);
  for (const Tried& one : tried()) {
    const ops::Family& family = *one.family;
    for (const test::StepDevice& on : test::step_devices()) {
      if (!family.runs_on(on.device().architecture())) {
        MESSAGE(std::string(family.name()) << " skipped: it does not run on " << on.on.name);
        continue;
      }
      sparse::Random random(seed);
      for (int i = 0; i < (test::thread_sanitized ? 2 : 24); ++i) {
        const SparseAttention problem = test::random_attention(random);
        const sparse::Csr mask = test::random_attention_mask(random);
        const auto query = ops::make_query(problem, on.topology(mask.view())->statistics(), &on.device());
        if (family.declines(*query)) {
          CHECK(family.name() == "fused_wgmma");
          CHECK(mask.rows <= 32);  // half of a warpgroup's queries
          continue;
        }
        check(on, family, problem, mask,
              i % 2 == 0 ? test::random_config(family, *query, one.values, random)
                         : test::space_config(family, *query, random));
      }
    }
  }
}

TEST_CASE("attention in one kernel: keys and values touch the queries that name them, whatever they hold") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4502;
  MESSAGE("seed " << seed);
  Attended of(seed);
  const float held_there[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), 65504.0F};
  for (int i = 0; i < 4; ++i) {
    of.value[(20 + 31 * i) * size + 5 + i] = held_there[i];
    of.key[(9 + 31 * i) * size + 3] = held_there[i];
  }
  const std::vector<double> expected = exact(of);
  CHECK(std::count_if(expected.begin(), expected.end(), [](double x) { return std::isfinite(x); }) >
        queries * size / 8);
  test::on_every_device([&](const Context& context) {
    for (const std::string& family : families_of(context)) {
      CAPTURE(family);
      check_close(run(context, of, family), expected);
    }
  });
}

TEST_CASE("attention in one kernel: scores of any size, and scales of either sign") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4503;
  MESSAGE("seed " << seed);
  for (const float scale : {1.0F, -0.5F, 100.0F, 1e-6F}) {
    CAPTURE(scale);
    Attended of(seed);
    of.scale = scale;
    for (std::int64_t i = 0; i < size; ++i) of.query[7 * size + i] *= 64;
    const std::vector<double> expected = exact(of);
    test::on_every_device([&](const Context& context) {
      for (const std::string& family : families_of(context)) {
        CAPTURE(family);
        check_close(run(context, of, family), expected);
      }
    });
  }
}
