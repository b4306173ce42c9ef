// Sparse matrix times dense matrix.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <vostok/enums.hpp>
#include <vostok/packed.hpp>

namespace vostok {

/// What happens to the product before it is stored, in this order:
/// output = activation(scale * product + bias + residual + (accumulate ? output : 0)).
struct Epilogue {
  Bias bias = Bias::none;
  std::optional<Dtype> bias_element = std::nullopt;  ///< type of the bias: f32 or the problem's element; default: f32
  bool residual = false;                             ///< add a matrix of the output's shape, type, layout and strides
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool accumulate = false;  ///< add to what the output holds

  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// Operands of one SpMM. Device pointers, of the types and alignment that the problem declared.
struct SpmmArguments {
  const void* values = nullptr;  ///< nonzeros in CSR order of A (not of A^T), [nonzeros] or [batch, nonzeros]
  PackedReference packed =
      {};  ///< instead of values where the plan's value_lifetime is persistent: what its pack() returned
  const void* dense = nullptr;     ///< B
  void* output = nullptr;          ///< C; shares no element with another operand
  const void* bias = nullptr;      ///< [m] or [n], f32 or of Epilogue::bias_element, where the epilogue asks for it
  const void* residual = nullptr;  ///< as the output, where the epilogue asks for it
  float scale = 1.0F;              ///< where the epilogue's scale is `host`
  const float* device_scale = nullptr;  ///< where it is `device`
  void* workspace = nullptr;            ///< workspace_bytes() long, 256-byte aligned; may be null where that is 0
  std::int64_t n = 0;                   ///< only for a plan of several n (Spmm::n_values)
};

/// C[m,n] = A[m,k] B[k,n] (SC20 paper, section V), or C[k,n] = A^T B[m,n]. A's shape comes from the topology.
/// A value that this version does not support is refused with ErrorCode::unsupported, never ignored.
struct Spmm {
  using Arguments = SpmmArguments;
  static constexpr bool masked = true;  ///< planned with a topology

  std::int64_t n = 0;                          ///< columns of B and C; 0: nothing to do. Ignored if n_values is set
  std::vector<std::int64_t> n_values = {};     ///< plan for every 0 <= n <= max; `execute` then takes `.n`
  std::int64_t batch = 1;                      ///< independent products sharing one topology; 0: nothing to do
  bool values_per_batch = false;               ///< each product of the batch has its own values
  Dtype element = Dtype::f32;                  ///< type of the values and of B
  std::optional<Dtype> output = std::nullopt;  ///< type of C; default: element
  IndexType index = IndexType::automatic;    ///< of the column indices that kernels read; automatic: u16 where they fit
  bool sparse_transposed = false;            ///< compute A^T B, from the topology's cached transpose
  Layout dense_layout = Layout::row_major;   ///< of B; column_major: stored as [n, k], as frameworks keep activations
  Layout output_layout = Layout::row_major;  ///< of C
  std::int64_t dense_leading = 0;            ///< elements between rows of B (columns, where column_major); 0: packed
  std::int64_t output_leading = 0;           ///< elements between rows of C (columns, where column_major); 0: packed
  std::int64_t value_stride = 0;             ///< elements between the values of two of a batch; 0: packed (nonzeros)
  std::int64_t dense_stride = 0;             ///< elements between two B of a batch; 0: packed
  std::int64_t output_stride = 0;            ///< elements between two C of a batch; 0: packed
  int alignment_bytes = 16;                  ///< of every pointer at `execute`: element size to 16, a power of two
  Math math = Math::accurate;
  bool deterministic =
      true;  ///< same plan, inputs and device: the same bits. All families are deterministic, even if false
  NonFinite nonfinite = NonFinite::sparse;
  ValueLifetime value_lifetime =
      ValueLifetime::per_call;  ///< persistent: values are packed once (Plan::pack) and passed as `.packed`
  Epilogue epilogue = {};

  friend bool operator==(const Spmm&, const Spmm&) = default;
};

}  // namespace vostok
