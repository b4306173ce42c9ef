// What sparse convolutional networks need beside SpMM: their 1x1 convolutions are SpMM, these are the rest. Images are
// NCHW.
#pragma once

#include <cstdint>
#include <optional>

#include <vostok/enums.hpp>

namespace vostok {

/// Zeros around an image.
struct Padding {
  std::int64_t top = 0;
  std::int64_t bottom = 0;
  std::int64_t left = 0;
  std::int64_t right = 0;

  friend bool operator==(const Padding&, const Padding&) = default;
};

/// Positions of a kernel along a padded line, the size of the output. 0 if the kernel does not fit, or the sizes make
/// no sense (planning such a problem fails by name).
constexpr std::int64_t output_size(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t kernel,
                                   std::int64_t stride) {
  constexpr std::int64_t most = std::int64_t{1} << 60;
  const auto plausible = [](std::int64_t value) { return value >= 0 && value <= most; };
  if (!plausible(size) || !plausible(before) || !plausible(after) || kernel < 1 || stride < 1) return 0;
  const std::int64_t padded = size + before + after;
  return padded < kernel ? 0 : (padded - kernel) / stride + 1;
}

struct DepthwiseArguments {
  const void* input = nullptr;    ///< [batch, channels, height, width]
  const void* filters = nullptr;  ///< [channels, kernel, kernel]
  const void* bias = nullptr;     ///< [channels], f32 or of the problem's bias_element, where the problem asks for it
  void* output =
      nullptr;  ///< [batch, channels, output_height(), output_width()]; shares no element with another operand
  void* workspace = nullptr;
};

/// Depthwise convolution: every channel with a filter of its own (cross-correlation, as frameworks define it), bias and
/// activation fused.
struct DepthwiseConvolution {
  using Arguments = DepthwiseArguments;
  static constexpr bool masked = false;  ///< planned without a topology

  std::int64_t batch = 1;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  int kernel = 3;  ///< 3 or 5
  int stride = 1;  ///< 1 or 2
  Padding padding = {};
  Dtype element = Dtype::f32;  ///< of input, filters and output; sums are f32
  int alignment_bytes = 16;
  bool bias = false;
  std::optional<Dtype> bias_element = std::nullopt;  ///< f32 or the element type; default: f32
  Activation activation = Activation::none;

  std::int64_t output_height() const { return output_size(height, padding.top, padding.bottom, kernel, stride); }
  std::int64_t output_width() const { return output_size(width, padding.left, padding.right, kernel, stride); }

  friend bool operator==(const DepthwiseConvolution&, const DepthwiseConvolution&) = default;
};

struct BiasActivationArguments {
  const void* input = nullptr;
  const void* bias = nullptr;  ///< [rows] or [columns], f32 or of the problem's bias_element
  void* output = nullptr;      ///< may be `input`; else shares no element with it
  void* workspace = nullptr;
};

/// y = activation(x + bias) for dense [rows, columns] matrices: what a dense baseline needs after its product.
struct BiasActivation {
  using Arguments = BiasActivationArguments;
  static constexpr bool masked = false;  ///< planned without a topology

  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Dtype element = Dtype::f32;
  int alignment_bytes = 16;
  Bias bias = Bias::per_row;
  std::optional<Dtype> bias_element = std::nullopt;  ///< f32 or the element type; default: f32
  Activation activation = Activation::relu;

  friend bool operator==(const BiasActivation&, const BiasActivation&) = default;
};

struct Im2colArguments {
  const void* input = nullptr;  ///< [batch, channels, height, width]
  void* output = nullptr;       ///< [batch, channels * kernel_height * kernel_width, output_height() * output_width()]
  void* workspace = nullptr;
};

/// Image patches as the columns of a matrix, so that a convolution is a product (rows ordered channel, filter row,
/// filter column).
struct Im2col {
  using Arguments = Im2colArguments;
  static constexpr bool masked = false;  ///< planned without a topology

  std::int64_t batch = 1;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  int kernel_height = 3;
  int kernel_width = 3;
  int stride = 1;
  Padding padding = {};
  Dtype element = Dtype::f32;
  int alignment_bytes = 16;

  std::int64_t output_height() const { return output_size(height, padding.top, padding.bottom, kernel_height, stride); }
  std::int64_t output_width() const { return output_size(width, padding.left, padding.right, kernel_width, stride); }

  friend bool operator==(const Im2col&, const Im2col&) = default;
};

}  // namespace vostok
