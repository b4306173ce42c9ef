// Random problems and masks for families that compute attention without scores in memory.
#pragma once

#include "device/config_walk.hpp"
#include "device/uneven_mask.hpp"
#include "ops/attention/problem.hpp"

namespace vostok::test {

/// A mask with rows of very different lengths, some of them empty, and one of its rows naming all keys.
inline sparse::Csr random_attention_mask(sparse::Random& random) {
  const auto rows = pick<std::int64_t>(random, {1, 5, 16, 70, 150});
  const auto cols = pick<std::int64_t>(random, {1, 7, 64, 130, 333});
  return uneven_mask(rows, cols, random.bits());
}

inline SparseAttention random_attention(sparse::Random& random) {
  SparseAttention problem{.n = pick<std::int64_t>(random, {8, 16, 24, 40, 64, 80, 128}),
                          .value_size = pick<std::int64_t>(random, {0, 8, 16, 32, 72, 96}),
                          .batch = pick<std::int64_t>(random, {1, 2, 3}),
                          .element = pick(random, {Dtype::f16, Dtype::bf16}),
                          .saved = pick(random, {Saved::none, Saved::row_statistics})};
  if (random.below(2) == 0) {
    const std::int64_t value_size = problem.value_size != 0 ? problem.value_size : problem.n;
    problem.query_leading = problem.key_leading = problem.batch * problem.n;
    problem.value_leading = problem.output_leading = problem.batch * value_size;
    problem.query_stride = problem.key_stride = problem.n;
    problem.value_stride = problem.output_stride = value_size;
  }
  return problem;
}

}  // namespace vostok::test
