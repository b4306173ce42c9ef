// SpMM problems that differ in everything, made of the levels of factors (pairwise.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <vostok/spmm.hpp>

#include "device/pairwise.hpp"
#include "device/uneven_mask.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::test {

/// Chooses a property's value by the level of its factor; without levels, counts how many each factor has.
class Levels {
 public:
  explicit Levels(const std::vector<int>* row) : row_(row) {}
  template <class T, std::size_t count>
  T choose(const std::array<T, count>& values) {
    if (row_ == nullptr) return counts_.push_back(count), values[0];
    return values[static_cast<std::size_t>((*row_)[next_++])];
  }
  const std::vector<int>& counts() const { return counts_; }

 private:
  const std::vector<int>* row_;
  std::size_t next_ = 0;
  std::vector<int> counts_;
};

struct LevelledProblem {
  Spmm problem;
  sparse::Csr csr;
};

/// Where the matrices of a batch lie: behind one another, with a gap or without, or side by side.
inline void choose_place(Levels& levels, const Spmm& problem, Layout layout, std::int64_t rows, std::int64_t padding,
                         std::int64_t& leading, std::int64_t& stride) {
  constexpr int padded = 1;
  constexpr int side_by_side = 2;
  const std::int64_t length = ops::stored_matrix(layout, rows, problem.n, 0, 0).length;
  const int lines = levels.choose(std::array{0, padded, side_by_side});
  if (lines != 0) leading = (lines == side_by_side ? problem.batch : 1) * length + padding;
  const bool gap = levels.choose(std::array{false, true});
  if (lines == side_by_side) stride = length;
  else if (gap) stride = ops::stored_matrix(layout, rows, problem.n, leading, 0).stride + 2 * padding;
}

/// A problem of these levels for a family on tensor cores, or for one that serves other n.
inline LevelledProblem choose_tensor_problem(Levels& levels, std::uint64_t seed,
                                             const std::array<std::int64_t, 7>& sizes) {
  struct Shape {
    std::int64_t rows, cols;
  };
  constexpr std::array booleans = {false, true};
  constexpr std::array types = {Dtype::f32, Dtype::f16, Dtype::bf16};
  constexpr std::array layouts = {Layout::row_major, Layout::column_major};
  const Shape shape =
      levels.choose(std::array{Shape{40, 300}, Shape{65, 33}, Shape{1, 500}, Shape{130, 1}, Shape{7, 8}});
  Spmm p{.n = levels.choose(sizes)};
  const sparse::Csr csr = uneven_mask(shape.rows, shape.cols, seed + static_cast<std::uint64_t>(shape.rows));
  p.element = levels.choose(types);
  p.output = levels.choose(types);
  p.sparse_transposed = levels.choose(booleans);
  p.dense_layout = levels.choose(layouts);
  p.output_layout = levels.choose(layouts);
  p.batch = levels.choose(std::array<std::int64_t, 3>{1, 3, 2});
  p.values_per_batch = levels.choose(booleans);
  const std::int64_t value_gap = levels.choose(std::array{-1, 0, 3});  // packed, as many as a row of eight, or odd
  if (value_gap >= 0) p.value_stride = (csr.nonzeros() + 8) / 8 * 8 + value_gap;
  const std::int64_t m = p.sparse_transposed ? csr.cols : csr.rows;
  const std::int64_t k = p.sparse_transposed ? csr.rows : csr.cols;
  choose_place(levels, p, p.dense_layout, k, 8, p.dense_leading, p.dense_stride);
  choose_place(levels, p, p.output_layout, m, 5, p.output_leading, p.output_stride);
  p.alignment_bytes = std::max(levels.choose(std::array{16, 8, 2}), size_of(p.element));
  p.math = levels.choose(std::array{Math::accurate, Math::tf32});
  p.nonfinite = levels.choose(std::array{NonFinite::sparse, NonFinite::dense});
  p.value_lifetime = levels.choose(std::array{ValueLifetime::persistent, ValueLifetime::per_call});
  p.epilogue.bias = levels.choose(std::array{Bias::none, Bias::per_row, Bias::per_column});
  if (levels.choose(booleans)) p.epilogue.bias_element = p.element;
  p.epilogue.activation = levels.choose(
      std::array{Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu});
  p.epilogue.scale = levels.choose(std::array{Scale::one, Scale::host, Scale::device});
  p.epilogue.residual = levels.choose(booleans);
  p.epilogue.accumulate = levels.choose(booleans);
  return {.problem = p, .csr = csr};
}

constexpr std::array<std::int64_t, 7> tensor_sizes = {64, 1, 24, 33, 7, 200, 130};  ///< n of such problems

/// Problems among which every pair of levels occurs.
inline std::vector<LevelledProblem> paired_tensor_problems(std::uint64_t seed,
                                                           const std::array<std::int64_t, 7>& sizes = tensor_sizes) {
  Levels counting(nullptr);
  choose_tensor_problem(counting, seed, sizes);
  std::vector<LevelledProblem> problems;
  for (const std::vector<int>& row : pairwise(counting.counts(), seed)) {
    Levels levels(&row);
    problems.push_back(choose_tensor_problem(levels, seed, sizes));
  }
  return problems;
}

}  // namespace vostok::test
