// Problems are values: the operation, sizes, precisions, layouts and epilogue. No pointers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <vostok/enums.hpp>

namespace vostok {

/// What happens to the product before it is stored, in this order:
/// output = activation(scale * product + bias + residual + (accumulate ? output : 0)).
struct Epilogue {
  Bias bias = Bias::none;
  bool residual = false;  ///< add a matrix of the output's shape, type and layout
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool accumulate = false;  ///< add to what the output holds

  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// Sparse matrix times dense matrix, C[m,n] = A[m,k] B[k,n] (SC20 paper, section V).
/// A's shape comes from the topology that the problem is planned with.
/// A value that this version does not support is refused with ErrorCode::unsupported, never ignored.
struct Spmm {
  std::int64_t n = 0;                          ///< columns of B and C; 0 is legal. Ignored if n_values is set
  std::vector<std::int64_t> n_values = {};     ///< plan for every 1 <= n <= max; `execute` then takes `.n`
  std::int64_t batch = 1;                      ///< independent products sharing one topology
  Dtype element = Dtype::f32;                  ///< type of the values and of B
  std::optional<Dtype> output = std::nullopt;  ///< type of C; default: element
  IndexType index = IndexType::automatic;
  bool sparse_transposed = false;            ///< compute A^T B
  Layout dense_layout = Layout::row_major;   ///< of B
  Layout output_layout = Layout::row_major;  ///< of C
  std::int64_t dense_leading = 0;            ///< elements between rows of B; 0: packed (n)
  std::int64_t output_leading = 0;           ///< elements between rows of C; 0: packed (n)
  int alignment_bytes = 16;                  ///< of every pointer at `execute`: element size to 16, a power of two
  Math math = Math::accurate;
  bool deterministic = true;  ///< same plan, inputs and device: the same bits
  NonFinite nonfinite = NonFinite::dense;
  ValueLifetime value_lifetime = ValueLifetime::per_call;
  Epilogue epilogue = {};

  friend bool operator==(const Spmm&, const Spmm&) = default;
};

}  // namespace vostok
