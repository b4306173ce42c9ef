// Random problems and masks for families that compute attention without scores in memory, and walks over their configs.
#pragma once

#include "device/config_walk.hpp"
#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "ops/attention/problem.hpp"

namespace vostok::test {

/// A mask with rows of very different lengths, some of them empty, and one of its rows naming all keys.
inline sparse::Csr random_attention_mask(sparse::Random& random) {
  const auto rows = pick<std::int64_t>(random, {1, 5, 16, 70, 150});
  const auto cols = pick<std::int64_t>(random, {1, 7, 64, 130, 333});
  return uneven_mask(rows, cols, random.bits());
}

/// Heads side by side within a token: [tokens, heads, size].
inline SparseAttention interleaved(SparseAttention problem) {
  const std::int64_t value_size = ops::value_size_of(problem), key_heads = ops::key_heads_of(problem);
  problem.query_leading = problem.batch * problem.n;
  problem.key_leading = key_heads * problem.n;
  problem.value_leading = key_heads * value_size;
  problem.output_leading = problem.batch * value_size;
  problem.query_stride = problem.key_stride = problem.n;
  problem.value_stride = problem.output_stride = value_size;
  return problem;
}

inline SparseAttention random_attention(sparse::Random& random) {
  SparseAttention problem{.n = pick<std::int64_t>(random, {8, 16, 24, 40, 64, 80, 128}),
                          .value_size = pick<std::int64_t>(random, {0, 8, 16, 32, 72, 96}),
                          .batch = pick<std::int64_t>(random, {1, 2, 3}),
                          .element = pick(random, {Dtype::f16, Dtype::bf16}),
                          .saved = pick(random, {Saved::none, Saved::row_statistics})};
  return random.below(2) == 0 ? interleaved(problem) : problem;
}

/// Of f32, which kernels multiply as 16-bit terms. Some heads share keys.
inline SparseAttention random_attention_of_f32(sparse::Random& random) {
  SparseAttention problem{.n = pick<std::int64_t>(random, {4, 16, 24, 60, 64, 80, 128}),
                          .value_size = pick<std::int64_t>(random, {0, 8, 16, 36, 72, 96}),
                          .batch = pick<std::int64_t>(random, {1, 2, 4}),
                          .element = Dtype::f32,
                          .math = pick(random, {Math::accurate, Math::tf32}),
                          .saved = pick(random, {Saved::none, Saved::row_statistics})};
  if (problem.batch == 4) problem.key_heads = 2;
  return random.below(2) == 0 ? interleaved(problem) : problem;
}

/// Each bit of `which` below 16 names a feature: capped, causal, biased, with dropout.
inline void set_features(SparseAttention& problem, std::int64_t which) {
  problem.capped = (which & 1) != 0;
  problem.causal = (which & 2) != 0;
  problem.biased = (which & 4) != 0;
  problem.dropped = (which & 8) != 0;
}

/// The same with at least one of these features.
inline SparseAttention random_attention_of_f32_beyond(sparse::Random& random) {
  SparseAttention problem = random_attention_of_f32(random);
  set_features(problem, 1 + random.below(15));
  if (problem.biased) problem.bias_stride = pick<std::int64_t>(random, {0, 150 * 333 + 1});
  return problem;
}

/// Of 16 bits, with heads that share keys, capped scores and causal queries: at least one of these.
inline SparseAttention random_attention_beyond(sparse::Random& random) {
  SparseAttention problem = random_attention(random);
  problem.query_leading = problem.key_leading = problem.value_leading = problem.output_leading = 0;
  problem.query_stride = problem.key_stride = problem.value_stride = problem.output_stride = 0;
  const std::int64_t which = 1 + random.below(7);
  if ((which & 1) != 0) {
    problem.key_heads = pick<std::int64_t>(random, {1, 2});
    problem.batch = problem.key_heads * pick<std::int64_t>(random, {2, 4, 8});
  }
  problem.capped = (which & 2) != 0;
  problem.causal = (which & 4) != 0;
  return random.below(2) == 0 ? interleaved(problem) : problem;
}

/// Biased, and any of these or none. Heads' biases lie further apart than any mask has elements, or all share one list.
inline SparseAttention random_attention_biased(sparse::Random& random) {
  SparseAttention problem = random.below(2) == 0 ? random_attention(random) : random_attention_beyond(random);
  problem.biased = true;
  problem.bias_stride = pick<std::int64_t>(random, {0, 150 * 333 + 1});
  return problem;
}

/// Any of these, with dropout: every other one is biased, too.
inline SparseAttention random_attention_dropped(sparse::Random& random) {
  SparseAttention problem = random.below(2) == 0   ? random_attention_biased(random)
                            : random.below(2) == 0 ? random_attention(random)
                                                   : random_attention_beyond(random);
  problem.dropped = true;
  return problem;
}

/// A family, and values to try of its configs.
struct TriedFamily {
  std::unique_ptr<ops::Family> family;
  FieldValues values;
};

/// visit(device) for each that the family runs on; tells of the others.
template <class Visit>
void on_devices_of(const ops::Family& family, Visit visit) {
  for (const StepDevice& on : step_devices()) {
    if (family.runs_on(on.device().architecture())) visit(on);
    else MESSAGE(std::string(family.name()) << " skipped: it does not run on " << on.on.name);
  }
}

/// check(device, family, its problem, mask, draw) `count` times for each family and device: draw(query) is a config, of
/// the space or any other.
template <class Check>
void check_configs(const std::vector<TriedFamily>& tried, std::uint64_t seed, int count,
                   SparseAttention (*random_problem)(sparse::Random&), Check check) {
  MESSAGE("seed " << seed);
  for (const TriedFamily& one : tried)
    on_devices_of(*one.family, [&](const StepDevice& on) {
      sparse::Random random(seed);
      for (int i = 0; i < count; ++i) {
        const SparseAttention problem = random_problem(random);
        const sparse::Csr mask = random_attention_mask(random);
        check(on, *one.family, problem, mask, [&](const ops::Query& query) {
          return i % 2 == 0 ? random_config(*one.family, query, one.values, random)
                            : space_config(*one.family, query, random);
        });
      }
    });
}

}  // namespace vostok::test
