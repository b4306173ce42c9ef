// The operands of one SpMM on the host, and what the product must be.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vostok/spmm.hpp>

#include "ops/stored_matrix.hpp"
#include "sparse/csr.hpp"
#include "sparse/transpose.hpp"

namespace vostok::tune {

/// Random operands as floats that their types hold exactly. What lies between lines, and between matrices, is NaN: no result
/// may depend on it.
struct SpmmHost {
  /// `problem.n` must be set; `matrix` is A, whose own values are used where it has them.
  SpmmHost(const Spmm& problem, sparse::Csr matrix, std::uint64_t seed, float host_scale);

  Spmm problem;                               ///< output filled in
  sparse::Csr walked;                         ///< A, or A^T where the problem transposes it
  std::vector<std::int32_t> value_positions;  ///< of A^T's entries among `values`; empty where A is not transposed
  ops::StoredMatrix dense_shape, output_shape;
  std::int64_t value_stride = 0;  ///< elements between two sets of values; 0 where the batch shares one
  std::vector<float> values;      ///< in CSR order of A
  bool finite_values = true;      ///< none of A's own values is NaN or infinite, as its type stores it
  std::vector<float> dense;
  std::vector<float> bias;
  std::vector<float> residual;
  std::vector<float> output;  ///< what C holds before, where the epilogue accumulates
  float scale = 1.0F;

  Dtype bias_type() const { return problem.epilogue.bias_element.value_or(Dtype::f32); }
  /// These columns of one product of the batch in float64: [walked.rows, columns].
  std::vector<double> reference(std::int64_t product, std::span<const std::int64_t> columns) const;
  /// Whether this row's values are finite in this product. Of others a kernel may make NaN where float64 has an infinity:
  /// it multiplies each term of a split number for itself.
  bool row_is_finite(std::int64_t product, std::int64_t row) const;
  /// The same columns of an output as it is stored.
  std::vector<float> columns_of(std::span<const float> stored, std::int64_t product, std::span<const std::int64_t> columns) const;

 private:
  std::vector<float> matrices(const ops::StoredMatrix& shape, Dtype type, std::uint64_t seed) const;
  std::vector<float> sparse_values(const sparse::Csr& matrix, std::uint64_t seed) const;
  std::vector<float> gather(std::span<const float> stored, const ops::StoredMatrix& shape, Layout layout, std::int64_t rows, std::int64_t product,
                            std::span<const std::int64_t> columns) const;
};

}  // namespace vostok::tune
