// The convolution side in float64.
#pragma once

#include <span>
#include <vector>

#include <vostok/convolution.hpp>

namespace vostok::sparse {

/// The sums of a depthwise convolution, before bias and activation: [batch, channels, output_height(), output_width()].
std::vector<double> depthwise_sums(const DepthwiseConvolution& problem, std::span<const float> input,
                                   std::span<const float> filters);

/// [batch, channels * kernel_height * kernel_width, output_height() * output_width()].
std::vector<float> im2col(const Im2col& problem, std::span<const float> input);

}  // namespace vostok::sparse
