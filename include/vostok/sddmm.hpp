// Sampled dense-dense matrix product.
#pragma once

#include <cstdint>
#include <optional>

#include <vostok/enums.hpp>

namespace vostok {

/// Operands of one SDDMM. Device pointers, of the types and alignment that the problem declared.
struct SddmmArguments {
  const void* lhs = nullptr;  ///< A
  const void* rhs = nullptr;  ///< B
  /// D's nonzeros in CSR order, [batch, nonzeros]; shares no element with another operand, but may be `multiplier`
  /// where that has the same type and strides.
  void* output = nullptr;
  const void* multiplier =
      nullptr;         ///< C's nonzeros in CSR order, of the element type, where the problem multiplies by them
  float scale = 1.0F;  ///< where the problem's scale is `host`
  const float* device_scale = nullptr;  ///< where it is `device`
  void* workspace = nullptr;            ///< workspace_bytes() long, 256-byte aligned; may be null where that is 0
};

/// D[m,k] = scale * (A[m,n] B[k,n]^T) o I[mask] (o C), plus D where it accumulates (SC20 paper, section VI). m, k and
/// the mask come from the topology; n is the inner size. Only the mask's elements are computed and stored.
struct Sddmm {
  using Arguments = SddmmArguments;
  static constexpr bool masked = true;  ///< planned with a topology

  std::int64_t n = 0;                          ///< inner size; 0 is legal: every product is 0
  std::int64_t batch = 1;                      ///< 0: nothing to do
  Dtype element = Dtype::f32;                  ///< type of A, B and C
  std::optional<Dtype> output = std::nullopt;  ///< of D: f32 or the element type; default: element
  IndexType index = IndexType::automatic;
  Layout lhs_layout = Layout::row_major;  ///< of A[m,n]; column_major: stored as [n, m]
  Layout rhs_layout = Layout::row_major;  ///< of B[k,n]; column_major: stored as [n, k]
  std::int64_t lhs_leading = 0;           ///< elements between rows of A (columns, where column_major); 0: packed
  std::int64_t rhs_leading = 0;
  std::int64_t lhs_stride = 0;         ///< elements between two A of a batch; 0: packed
  std::int64_t rhs_stride = 0;         ///< elements between two B of a batch; 0: packed
  std::int64_t output_stride = 0;      ///< elements between the nonzeros of two D of a batch; 0: packed (nonzeros)
  std::int64_t multiplier_stride = 0;  ///< as output_stride, for C; 0: one C for the whole batch
  int alignment_bytes = 16;            ///< of every pointer at `execute`: element size to 16, a power of two
  Math math = Math::accurate;
  bool deterministic = true;
  NonFinite nonfinite = NonFinite::sparse;
  Scale scale = Scale::one;
  bool multiply = false;    ///< multiply by the values of C
  bool accumulate = false;  ///< add to what the output holds

  friend bool operator==(const Sddmm&, const Sddmm&) = default;
};

}  // namespace vostok
