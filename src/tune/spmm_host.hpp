// The operands of one SpMM on the host, and the reference of the product.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <vostok/spmm.hpp>

#include "ops/stored_matrix.hpp"
#include "sparse/csr.hpp"
#include "sparse/transpose.hpp"

namespace vostok::tune {

/// Random operands, as floats that their types represent exactly. Gaps between lines and between matrices are NaN: no
/// result may depend on them.
struct SpmmHost {
  /// `problem.n` must be set; `matrix` is A, whose own values are used if it has any.
  SpmmHost(const Spmm& problem, sparse::Csr matrix, std::uint64_t seed, float host_scale);

  Spmm problem;                               ///< output filled in
  sparse::Csr walked;                         ///< A, or A^T where the problem transposes it
  std::vector<std::int32_t> value_positions;  ///< places of A^T's entries in `values`; empty if A is not transposed
  ops::StoredMatrix dense_shape, output_shape;
  std::int64_t value_stride = 0;  ///< elements between two sets of values; 0 where the batch shares one
  std::vector<float> values;      ///< in CSR order of A
  bool finite_values = true;      ///< none of A's own values is NaN or infinite, as its type stores it
  std::vector<float> dense;
  std::vector<float> bias;
  std::vector<float> residual;
  std::vector<float> output;  ///< C before the call, if the epilogue accumulates
  float scale = 1.0F;

  Dtype bias_type() const { return problem.epilogue.bias_element.value_or(Dtype::f32); }
  /// The float64 reference for these columns of one product of the batch: [walked.rows, columns].
  std::vector<double> reference(std::int64_t product, std::span<const std::int64_t> columns) const;
  /// Whether this row's values are finite in this product. For other rows a kernel may give NaN where float64 gives an
  /// infinity: it multiplies each term of a split number separately.
  bool row_is_finite(std::int64_t product, std::int64_t row) const;
  /// The same columns of a stored output.
  std::vector<float> columns_of(std::span<const float> stored, std::int64_t product,
                                std::span<const std::int64_t> columns) const;

 private:
  std::vector<float> matrices(const ops::StoredMatrix& shape, Dtype type, std::uint64_t seed) const;
  std::vector<float> sparse_values(const sparse::Csr& matrix, std::uint64_t seed) const;
  std::vector<float> gather(std::span<const float> stored, const ops::StoredMatrix& shape, Layout layout,
                            std::int64_t rows, std::int64_t product, std::span<const std::int64_t> columns) const;
};

}  // namespace vostok::tune
