// What the tests of SpMM's families ask with: queries of problems and sizes, problems at random, and a launch's shape
// without pointers.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "ops/launch.hpp"
#include "ops/spmm/problem.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

inline ops::SpmmQuery query_of(const Spmm& problem, const TopologyStatistics& statistics,
                               const device::Device* device = nullptr) {
  return *ops::make_query(problem, statistics, {problem.n, problem.n}, device);
}

/// Of a matrix whose rows are about equally long.
inline TopologyStatistics statistics_of(std::int64_t rows, std::int64_t cols, double density) {
  const double mean_row = static_cast<double>(cols) * density;
  return {.rows = rows,
          .cols = cols,
          .nonzeros = static_cast<std::int64_t>(static_cast<double>(rows) * mean_row) + 1,
          .longest_row = static_cast<std::int64_t>(mean_row) + 1,
          .mean_row = mean_row};
}

template <class T>
T pick(sparse::Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(static_cast<std::int64_t>(values.size())));
}

/// Any problem that tensor cores may serve.
inline Spmm random_tensor_problem(sparse::Random& random) {
  Spmm problem{.n = 1 + random.below(std::int64_t{1} << random.below(14))};
  problem.element = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
  problem.output = pick(random, {Dtype::f32, Dtype::f16, Dtype::bf16});
  problem.dense_layout = pick(random, {Layout::row_major, Layout::column_major});
  problem.output_layout = pick(random, {Layout::row_major, Layout::column_major});
  problem.batch = 1 + random.below(3);
  problem.alignment_bytes = size_of(problem.element) << random.below(3);
  problem.math = pick(random, {Math::accurate, Math::tf32});
  problem.value_lifetime = pick(random, {ValueLifetime::per_call, ValueLifetime::persistent});
  return problem;
}

/// What a launch's shape says without pointers.
inline device::LaunchShape shape_of(const ops::Launch& launch, const Spmm& problem) {
  alignas(ops::argument_alignment) unsigned char arguments[ops::max_argument_bytes];
  char memory[1] = {};
  const SpmmArguments call{.values = memory, .dense = memory, .output = memory, .workspace = memory, .n = problem.n};
  return launch.bind(&call, arguments);
}

}  // namespace vostok::test
