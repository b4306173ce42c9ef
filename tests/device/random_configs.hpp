// Random problems and matrices for families that read A as CSR.
#pragma once

#include <vostok/spmm.hpp>

#include "device/config_walk.hpp"
#include "device/uneven_mask.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

inline Spmm random_csr_problem(sparse::Random& random) {
  Spmm problem{.n = pick<std::int64_t>(random, {1, 2, 3, 4, 7, 8, 12, 17, 32, 33, 52, 64, 100})};
  if (random.below(3) == 0) problem.dense_leading = problem.n + random.below(9);
  if (random.below(3) == 0) problem.output_leading = problem.n + random.below(9);
  problem.alignment_bytes = pick(random, {4, 8, 16, 16});
  problem.epilogue.bias = pick(random, {Bias::none, Bias::per_row, Bias::per_column});
  return problem;
}

inline sparse::Csr random_matrix(sparse::Random& random) {
  const auto rows = pick<std::int64_t>(random, {1, 2, 5, 16, 33, 70});
  const auto cols = pick<std::int64_t>(random, {1, 3, 16, 61, 147, 300});
  return uneven_mask(rows, cols, random.bits());
}

}  // namespace vostok::test
