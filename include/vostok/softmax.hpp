// Softmax over the rows of a sparse matrix, and its gradient.
#pragma once

#include <cstdint>
#include <optional>

#include <vostok/enums.hpp>

namespace vostok {

struct SoftmaxArguments {
  const void* values = nullptr;  ///< nonzeros in CSR order, [batch, nonzeros]
  void* output = nullptr;        ///< probabilities; may be `values` where types and strides are the same
  float* row_statistics =
      nullptr;         ///< [batch, m], log-sum-exp of each scaled row, where the problem writes or reads it
  float scale = 1.0F;  ///< where the problem's scale is `host`
  const float* device_scale = nullptr;  ///< where it is `device`
  void* workspace = nullptr;
};

/// y = exp(scale * x) / sum over the row of exp(scale * x), over the nonzeros of each row, computed after subtracting
/// the row's maximum. Elements outside the mask count as -infinity. An empty row has nothing to store; a row whose
/// every element is -infinity gives zeros (and statistics of -infinity); a NaN or +infinity makes its whole row NaN.
/// That holds for scale * x, which is never rounded to an infinity: a negative scale swaps the infinities. A scale of 0
/// is the limit from above: an element of -infinity stays outside its row. One that is not finite makes everything NaN.
struct Softmax {
  using Arguments = SoftmaxArguments;
  static constexpr bool masked = true;  ///< planned with a topology

  std::int64_t batch = 1;                      ///< 0: nothing to do
  Dtype element = Dtype::f32;                  ///< of x
  std::optional<Dtype> output = std::nullopt;  ///< of y; default: element
  std::int64_t value_stride = 0;  ///< elements between the nonzeros of two x of a batch; 0: packed (nonzeros)
  std::int64_t output_stride = 0;
  int alignment_bytes = 16;
  bool deterministic = true;
  Scale scale = Scale::one;
  RowStatistics statistics = RowStatistics::none;

  friend bool operator==(const Softmax&, const Softmax&) = default;
};

struct SoftmaxBackwardArguments {
  const void* probabilities = nullptr;    ///< y of the forward pass
  const void* output_gradient = nullptr;  ///< dL/dy
  void* input_gradient = nullptr;         ///< dL/dx; may be `output_gradient` where types and strides are the same
  float scale = 1.0F;
  const float* device_scale = nullptr;
  void* workspace = nullptr;
};

/// dx = scale * y * (dy - sum over the row of y * dy).
struct SoftmaxBackward {
  using Arguments = SoftmaxBackwardArguments;
  static constexpr bool masked = true;  ///< planned with a topology

  std::int64_t batch = 1;                      ///< 0: nothing to do
  Dtype element = Dtype::f32;                  ///< of y and dy
  std::optional<Dtype> output = std::nullopt;  ///< of dx; default: element
  std::int64_t probability_stride = 0;         ///< elements between two of a batch; 0: packed (nonzeros)
  std::int64_t output_gradient_stride = 0;
  std::int64_t input_gradient_stride = 0;
  int alignment_bytes = 16;
  bool deterministic = true;
  Scale scale = Scale::one;

  friend bool operator==(const SoftmaxBackward&, const SoftmaxBackward&) = default;
};

}  // namespace vostok
