// SpMM problems among which every pair of two properties occurs: types, layouts, strides, batches, transposition, index types,
// alignments and epilogues.
#pragma once

#include <array>
#include <vector>

#include <vostok/spmm.hpp>

#include "device/pairwise.hpp"
#include "device/uneven_mask.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::test {

/// Chooses a property's value by the level of its factor.
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
  const Shape shape = levels.choose(std::array{Shape{40, 300}, Shape{65, 33}, Shape{1, 500}, Shape{130, 1}, Shape{7, 8}});
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
  // Matrices of a batch lie behind one another, with a gap or without, or side by side.
  const auto place = [&](Layout layout, std::int64_t rows, std::int64_t padding, std::int64_t& leading, std::int64_t& stride) {
    const std::int64_t length = ops::stored_matrix(layout, rows, p.n, 0, 0).length;
    const int lines = levels.choose(std::array{0, 1, 2});  // packed, padded, those of a batch side by side
    if (lines != 0) leading = (lines == 2 ? p.batch : 1) * length + padding;
    const bool gap = levels.choose(booleans);
    if (lines == 2) stride = length;
    else if (gap) stride = ops::stored_matrix(layout, rows, p.n, leading, 0).stride + 2 * padding;
  };
  place(p.dense_layout, k, 8, p.dense_leading, p.dense_stride);
  place(p.output_layout, m, 5, p.output_leading, p.output_stride);
  p.alignment_bytes = std::max(levels.choose(std::array{16, 8, 2}), size_of(p.element));
  p.math = levels.choose(std::array{Math::accurate, Math::strict, Math::tf32});
  p.epilogue.bias = levels.choose(std::array{Bias::none, Bias::per_row, Bias::per_column});
  p.epilogue.activation = levels.choose(std::array{Activation::none, Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu});
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
