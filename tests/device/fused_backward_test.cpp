// The gradients of attention without scores in memory: configs against float64, and what NaN in one key touches.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "device/contract.hpp"
#include "device/family_run.hpp"
#include "device/fused_attention_harness.hpp"
#include "device/topology_harness.hpp"
#include "ops/families.hpp"
#include "plan/attention_steps.hpp"
#include "sparse/attention_reference.hpp"
#include "tune/attention_case.hpp"

using namespace vostok;

namespace {

test::TriedFamily tried_by_mma() {
  return {ops::make_fused_backward(),
          {{"warps", {"1", "2", "4", "8"}},
           {"step_keys", {"16", "32", "64"}},
           {"stages", {"1", "2", "3", "4"}},
           {"min_blocks", {"1", "2"}},
           {"column_parts", {"1", "2"}}}};
}

const std::vector<test::TriedFamily>& tried() {
  static const std::vector<test::TriedFamily> list = [] {
    std::vector<test::TriedFamily> made;
    made.push_back(tried_by_mma());
    made.push_back({ops::make_fused_backward_wgmma(),
                    {{"groups", {"1", "2", "3"}}, {"stages", {"2", "3", "5"}}, {"min_blocks", {"1", "2"}}}});
    return made;
  }();
  return list;
}

/// Those that take f32.
const std::vector<test::TriedFamily>& tried_in_f32() {
  static const std::vector<test::TriedFamily> list = [] {
    std::vector<test::TriedFamily> made;
    made.push_back(tried_by_mma());
    made.push_back({ops::make_fused_backward_pair(), {{"stages", {"2", "3", "4"}}}});
    return made;
  }();
  return list;
}

void check(const test::StepDevice& on, const ops::Family& family, const SparseAttention& problem,
           const sparse::Csr& mask, const ops::Query& query, const ops::Config& config) {
  INFO(on.on.name << ": " << mask.rows << " x " << mask.cols << ", " << mask.nonzeros() << " nonzeros, n " << problem.n
                  << ", value_size " << problem.value_size << ", batch " << problem.batch << ", key_heads "
                  << problem.key_heads << ", capped " << problem.capped << ", causal " << problem.causal << ", biased "
                  << problem.biased << ", bias_stride " << problem.bias_stride << ", dropped " << problem.dropped
                  << ", " << std::string(name(problem.element)) << ", " << std::string(name(problem.math)) << ", saved "
                  << std::string(name(problem.saved)) << ", " << family.name() << " " << to_text(config.to_map()));
  const auto topology = on.topology(mask.view());
  const std::int64_t saved = plan::AttentionSteps(problem, topology->statistics(), problem.batch).saved_bytes();
  tune::AttentionBackwardCase operands(on.device(), {.forward = problem}, mask, 5, saved);
  const tune::Check check =
      test::run_family(on.device(), family, query, config, topology->pointers(family.needs(query, config)), operands);
  CAPTURE(check.error);
  CAPTURE(check.tolerance);
  CHECK_MESSAGE(check.wrong.empty(), check.wrong);
}

constexpr std::int64_t queries = 90, keys = 110;

struct Gradients {
  std::vector<float> by_query, by_key, by_value;
};

/// Of a problem with one head of keys.
Gradients run(const Context& context, const std::string& family, const SparseAttention& problem,
              const sparse::Csr& mask, const std::vector<float>& key_values, const std::vector<float>& value_values,
              std::uint64_t seed) {
  device::Device& device = test::device_of(context);
  const std::int64_t size = problem.n;
  const auto drawn = [&](std::int64_t rows, std::uint64_t own) {
    return test::held(Dtype::f16, test::drawn(test::ordinary_distributions().front(), rows * size, seed + own));
  };
  const AttentionBackwardPlan plan =
      context.plan(SparseAttentionBackward{problem}, context.topology(mask.view()), PlanOptions{.family = family});
  CHECK(plan.family() == family);
  const auto stored = [&](const std::vector<float>& values) { return test::stored(device, Dtype::f16, values); };
  const device::Buffer query = stored(drawn(problem.batch * queries, 1)),
                       gradient = stored(drawn(problem.batch * queries, 2)), key = stored(key_values),
                       value = stored(value_values);
  const device::Buffer by_query = stored(std::vector<float>(problem.batch * queries * size, -7)),
                       by_key = stored(std::vector<float>(keys * size, -7)),
                       by_value = stored(std::vector<float>(keys * size, -7));
  const Workspace workspace = plan.make_workspace();
  plan.execute(device.own_stream(), {.query = query.data(),
                                     .key = key.data(),
                                     .value = value.data(),
                                     .output_gradient = gradient.data(),
                                     .query_gradient = by_query.data(),
                                     .key_gradient = by_key.data(),
                                     .value_gradient = by_value.data(),
                                     .scale = -0.25F,
                                     .softcap = problem.capped ? 1.5F : 0.0F,
                                     .workspace = workspace});
  device.synchronize(device.own_stream());
  const auto read = [&](const device::Buffer& buffer) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(buffer.bytes()));
    device.copy_to_host(bytes.data(), buffer.data(), buffer.bytes());
    return sparse::from_storage(Dtype::f16, bytes);
  };
  return {read(by_query), read(by_key), read(by_value)};
}

/// Lines that are not `touched` are as they were, but for rounding, and the others are not finite.
void check_lines(std::int64_t size, const std::vector<float>& usual, const std::vector<float>& found,
                 const std::set<std::int64_t>& touched) {
  double error = 0, whole = 0;
  int finite_where_touched = 0;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (touched.contains(static_cast<std::int64_t>(i) / size)) {
      finite_where_touched += std::isfinite(found[i]) ? 1 : 0;
      continue;
    }
    error += (found[i] - usual[i]) * (found[i] - usual[i]);
    whole += usual[i] * usual[i];
  }
  CHECK(finite_where_touched == 0);
  CHECK(std::sqrt(error / whole) <= 2e-3);  // NaN, where one should not be, is not below
}

/// Configs of each family on problems that random_problem(random) draws.
void check_configs(std::uint64_t seed, SparseAttention (*random_problem)(sparse::Random&),
                   const std::vector<test::TriedFamily>& families = tried()) {
  test::check_configs(families, seed, test::thread_sanitized ? 1 : 10, random_problem,
                      [](const test::StepDevice& on, const ops::Family& family, const SparseAttention& problem,
                         const sparse::Csr& mask, const auto& draw) {
                        const auto topology = on.topology(mask.view());
                        const auto query = ops::make_query(SparseAttentionBackward{.forward = problem},
                                                           topology->statistics(), &on.device());
                        REQUIRE_MESSAGE(!family.declines(*query), *family.declines(*query));
                        check(on, family, problem, mask, *query, draw(*query));
                      });
}

}  // namespace

TEST_CASE("gradients of attention without scores: configs of the space, and others, on random problems") {
  check_configs(4511, test::random_attention);
}

TEST_CASE("gradients of attention without scores: configs where heads share keys, are capped or are causal") {
  check_configs(4513, test::random_attention_beyond);
}

TEST_CASE("gradients of attention without scores: configs where elements of the mask have biases") {
  check_configs(4514, test::random_attention_biased);
}

TEST_CASE("gradients of attention without scores: configs where probabilities are dropped") {
  check_configs(4515, test::random_attention_dropped);
}

TEST_CASE("gradients of attention without scores: configs on f32, as one 16-bit term or two") {
  check_configs(4516, test::random_attention_of_f32, tried_in_f32());
}

TEST_CASE("gradients of attention without scores: configs on f32 capped, causal, with biases and dropout") {
  check_configs(4517, test::random_attention_of_f32_beyond, tried_in_f32());
}

TEST_CASE("gradients of attention without scores: NaN in a value touches the lines that meet it, and no others") {
  if (test::left_to_other_builds()) return;
  constexpr std::uint64_t seed = 4512;
  MESSAGE("seed " << seed);
  const sparse::Csr mask = sparse::uniform(queries, keys, 0.97, seed);
  constexpr std::int64_t spoilt_key = 37;
  const SparseAttention problems[] = {{.n = 32, .element = Dtype::f16},
                                      {.n = 32, .batch = 3, .key_heads = 1, .element = Dtype::f16},
                                      {.n = 32, .element = Dtype::f16, .capped = true, .causal = true},
                                      {.n = 200, .element = Dtype::f16}};
  for (const SparseAttention& problem : problems) {
    CAPTURE(problem.n);
    CAPTURE(problem.batch);
    CAPTURE(problem.causal);
    const auto drawn = [&](std::uint64_t own) {
      return test::held(Dtype::f16, test::drawn(test::ordinary_distributions().front(), keys * problem.n, seed + own));
    };
    const std::vector<float> key = drawn(11), value = drawn(12);
    std::vector<float> spoilt = value;
    spoilt[spoilt_key * problem.n + 5] = std::numeric_limits<float>::quiet_NaN();
    const sparse::Csr seen = problem.causal ? sparse::causal_mask(mask) : mask;
    // Queries that see it, and the keys that these see.
    std::set<std::int64_t> query_lines, key_lines;
    for (std::int64_t line = 0; line < problem.batch * queries; ++line) {
      const std::int64_t row = line % queries;
      const auto first = seen.column_indices.begin() + seen.row_offsets[row],
                 last = seen.column_indices.begin() + seen.row_offsets[row + 1];
      if (std::find(first, last, spoilt_key) == last) continue;
      query_lines.insert(line);
      key_lines.insert(first, last);
    }
    CHECK(!query_lines.empty());
    test::on_every_device([&](const Context& context) {
      for (const test::TriedFamily& one : tried()) {
        if (!one.family->runs_on(test::device_of(context).architecture())) continue;
        if (problem.n > 128 && one.family->name() != "fused_backward") continue;  // the others leave wide heads out
        const std::string family(one.family->name());
        CAPTURE(family);
        const Gradients usual = run(context, family, problem, mask, key, value, seed),
                        found = run(context, family, problem, mask, key, spoilt, seed);
        check_lines(problem.n, usual.by_query, found.by_query, query_lines);
        check_lines(problem.n, usual.by_key, found.by_key, key_lines);
        check_lines(problem.n, usual.by_value, found.by_value, {});  // probabilities do not depend on values
      }
    });
  }
}
