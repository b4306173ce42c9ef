// SpMM problems among which every pair of two properties occurs: types, layouts, strides, batches, transposition, index
// types, alignments and epilogues.
#pragma once

#include <array>
#include <vector>

#include <vostok/spmm.hpp>

#include "device/pairwise.hpp"
#include "device/problem_levels.hpp"
#include "device/uneven_mask.hpp"

namespace vostok::test {

struct PairedProblem {
  Spmm problem;
  sparse::Csr csr;
  bool other_preparation = false;  ///< the operands reach the kernel the other way than by default
};

/// A problem of these levels; with none, counts the levels.
inline PairedProblem choose(Levels& levels, std::uint64_t seed) {
  struct Shape {
    std::int64_t rows, cols;
  };
  constexpr std::array booleans = {false, true};
  constexpr std::array types = {Dtype::f32, Dtype::f16, Dtype::bf16};
  constexpr std::array layouts = {Layout::row_major, Layout::column_major};
  const Shape shape =
      levels.choose(std::array{Shape{40, 300}, Shape{65, 33}, Shape{1, 500}, Shape{130, 1}, Shape{7, 8}});
  Spmm p{.n = levels.choose(std::array<std::int64_t, 6>{64, 1, 24, 33, 7, 200})};
  const sparse::Csr csr = uneven_mask(shape.rows, shape.cols, seed + static_cast<std::uint64_t>(shape.rows));
  p.element = levels.choose(types);
  p.output = levels.choose(types);
  p.index = levels.choose(std::array{IndexType::automatic, IndexType::i32});
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
  p.math = levels.choose(std::array{Math::accurate, Math::strict, Math::tf32});
  p.epilogue.bias = levels.choose(std::array{Bias::none, Bias::per_row, Bias::per_column});
  if (levels.choose(booleans)) p.epilogue.bias_element = p.element;
  p.epilogue.activation = levels.choose(
      std::array{Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu});
  p.epilogue.scale = levels.choose(std::array{Scale::one, Scale::host, Scale::device});
  p.epilogue.residual = levels.choose(booleans);
  p.epilogue.accumulate = levels.choose(booleans);
  return {.problem = p, .csr = csr, .other_preparation = levels.choose(booleans)};
}

inline std::vector<PairedProblem> spmm_pairs(std::uint64_t seed) {
  Levels counting(nullptr);
  choose(counting, seed);
  std::vector<PairedProblem> problems;
  for (const std::vector<int>& row : pairwise(counting.counts(), seed)) {
    Levels levels(&row);
    problems.push_back(choose(levels, seed));
  }
  return problems;
}

}  // namespace vostok::test
