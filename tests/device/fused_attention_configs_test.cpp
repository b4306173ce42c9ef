// Configs of attention in one kernel against float64: of each family's space and others, on random problems, where
// blocks stay and where warpgroups skip tiles.
#include <doctest/doctest.h>

#include <vector>

#include "device/family_run.hpp"
#include "device/fused_attention_harness.hpp"
#include "device/topology_harness.hpp"
#include "ops/attention/problem.hpp"
#include "ops/families.hpp"
#include "plan/attention_steps.hpp"
#include "tune/attention_case.hpp"

using namespace vostok;

namespace {

const std::vector<test::TriedFamily>& tried() {
  static const std::vector<test::TriedFamily> list = [] {
    std::vector<test::TriedFamily> made;
    made.push_back({ops::make_fused_mma(),
                    {{"warps", {"1", "2", "4", "8"}},
                     {"warp_strips", {"1", "2"}},
                     {"step_keys", {"16", "32", "64"}},
                     {"stages", {"1", "2", "3", "4"}},
                     {"slices", {"1", "2", "3", "5"}},
                     {"min_blocks", {"1", "2"}},
                     {"keeps_queries", {"false", "true"}},
                     {"column_parts", {"1", "2"}}}});
    made.push_back({ops::make_fused_wgmma(),
                    {{"groups", {"1", "2", "3"}},
                     {"stages", {"2", "3", "5"}},
                     {"step_tiles", {"1", "2"}},
                     {"slices", {"1", "2", "3", "5"}},
                     {"min_blocks", {"1", "2"}},
                     {"keeps_queries", {"false", "true"}},
                     {"persistent", {"false", "true"}},
                     {"skips_tiles", {"false", "true"}},
                     {"values_apart", {"false", "true"}}}});
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
                  << ", value_size " << problem.value_size << ", batch " << problem.batch << ", key_heads "
                  << problem.key_heads << ", capped " << problem.capped << ", causal " << problem.causal << ", biased "
                  << problem.biased << ", bias_stride " << problem.bias_stride << ", dropped " << problem.dropped
                  << ", " << std::string(name(problem.element)) << ", " << family.name() << " "
                  << to_text(config.to_map()));
  const tune::Check check = run(on, family, problem, mask, config);
  CAPTURE(check.error);
  CAPTURE(check.tolerance);
  CHECK_MESSAGE(check.wrong.empty(), check.wrong);
}

/// Queries of very different lengths, and 192 one after another that name no key.
sparse::Csr with_empty_block(std::uint64_t seed) {
  const sparse::Csr source = test::uneven_mask(700, 150, seed);
  sparse::Csr mask{.rows = source.rows, .cols = source.cols};
  for (std::int64_t row = 0; row < source.rows; ++row) {
    if (row < 128 || row >= 320)
      mask.column_indices.insert(mask.column_indices.end(), source.column_indices.begin() + source.row_offsets[row],
                                 source.column_indices.begin() + source.row_offsets[row + 1]);
    mask.row_offsets.push_back(mask.nonzeros());
  }
  return mask;
}

/// Masks whose blocks of 128 and 192 queries have tiles of every class; few of them; long ones of one part; and none.
std::vector<sparse::Csr> skipping_masks(std::uint64_t seed) {
  std::vector<sparse::Csr> list = {sparse::uniform(400, 4000, 0.99, seed), sparse::uniform(257, 700, 0.8, seed + 1),
                                   with_empty_block(seed + 2)};
  sparse::Csr& uneven = list.emplace_back(sparse::Csr{.rows = 384, .cols = 3000});
  for (std::int64_t row = 0; row < uneven.rows; ++row) {
    const std::int64_t part = row / 64 % 3, first = part == 0 ? 0 : row % 7;
    for (std::int64_t column = first; column < uneven.cols; column += part == 0 ? 2 : part == 1 ? 1499 : 9000)
      uneven.column_indices.push_back(static_cast<std::int32_t>(column));
    uneven.row_offsets.push_back(uneven.nonzeros());
  }
  return list;
}

/// Configs of each family on problems that random_problem(random) draws.
void check_configs(std::uint64_t seed, SparseAttention (*random_problem)(sparse::Random&)) {
  test::check_configs(tried(), seed, test::thread_sanitized ? 2 : 16, random_problem,
                      [](const test::StepDevice& on, const ops::Family& family, const SparseAttention& problem,
                         const sparse::Csr& mask, const auto& draw) {
                        const auto query =
                            ops::make_query(problem, on.topology(mask.view())->statistics(), &on.device());
                        if (!family.declines(*query)) return check(on, family, problem, mask, draw(*query));
                        CHECK(family.name() == "fused_wgmma");
                        CHECK(mask.rows <= 32);  // half of a warpgroup's queries
                      });
}

}  // namespace

TEST_CASE("attention in one kernel: configs of the space, and others, on random problems") {
  check_configs(4501, test::random_attention);
}

TEST_CASE("attention in one kernel: configs where heads share keys, scores are capped or queries are causal") {
  check_configs(4504, test::random_attention_beyond);
}

TEST_CASE("attention in one kernel: configs where f32 is split into 16-bit terms") {
  check_configs(4508, test::random_attention_of_f32);
}

TEST_CASE("attention in one kernel: configs where f32 is capped, causal, biased or dropped") {
  check_configs(4523, test::random_attention_of_f32_beyond);
}

TEST_CASE("attention in one kernel: configs where elements of the mask have biases") {
  check_configs(4521, test::random_attention_biased);
}

TEST_CASE("attention in one kernel: configs where probabilities are dropped") {
  check_configs(4522, test::random_attention_dropped);
}

TEST_CASE("attention in one kernel: blocks that stay take many works, some of them without keys") {
  constexpr std::uint64_t seed = 4507;
  MESSAGE("seed " << seed);
  const ops::Family& family = *tried().back().family;
  test::on_devices_of(family, [&](const test::StepDevice& on) {
    const sparse::Csr mask = with_empty_block(seed);
    const SparseAttention problem{.n = 64, .batch = 96, .element = Dtype::bf16, .saved = Saved::row_statistics};
    const auto query = ops::make_query(problem, on.topology(mask.view())->statistics(), &on.device());
    test::FieldValues values = tried().back().values;
    values["persistent"] = {"true"};
    sparse::Random random(seed);
    for (int i = 0; i < 6; ++i) check(on, family, problem, mask, test::random_config(family, *query, values, random));
  });
}

TEST_CASE("attention in one kernel: warpgroups skip tiles of which they name no key") {
  constexpr std::uint64_t seed = 4531;
  MESSAGE("seed " << seed);
  const ops::Family& family = *tried().back().family;
  test::on_devices_of(family, [&](const test::StepDevice& on) {
    test::FieldValues values = tried().back().values;
    values["skips_tiles"] = {"true"};
    values["groups"] = {"2", "3"};
    values["stages"] = {"3", "4", "5", "6"};
    values["step_tiles"] = {"1"};
    values["keeps_queries"] = {"false"};
    sparse::Random random(seed);
    for (const SparseAttention& problem :
         {SparseAttention{.n = 64, .batch = 40, .element = Dtype::bf16, .saved = Saved::row_statistics},
          SparseAttention{.n = 128, .batch = 3, .element = Dtype::f16, .capped = true},
          SparseAttention{.n = 64, .batch = 4, .key_heads = 2, .element = Dtype::f16, .dropped = true},
          SparseAttention{.n = 64, .batch = 2, .element = Dtype::f32},
          SparseAttention{.n = 128, .batch = 2, .element = Dtype::f32, .math = Math::tf32}})
      for (const sparse::Csr& mask : skipping_masks(seed)) {
        const auto query = ops::make_query(problem, on.topology(mask.view())->statistics(), &on.device());
        for (int i = 0; i < 2; ++i)
          check(on, family, problem, mask, test::random_config(family, *query, values, random));
      }
  });
}
