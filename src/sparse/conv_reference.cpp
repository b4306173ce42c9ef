#include "sparse/conv_reference.hpp"

#include <cstdint>

namespace vostok::sparse {

namespace {

/// One channel of one image, with zeros around it.
class PaddedPlane {
 public:
  PaddedPlane(std::span<const float> input, std::int64_t plane, std::int64_t height, std::int64_t width,
              const Padding& padding)
      : pixels_(
            input.subspan(static_cast<std::size_t>(plane * height * width), static_cast<std::size_t>(height * width))),
        height_(height),
        width_(width),
        padding_(padding) {}

  float at(std::int64_t padded_row, std::int64_t padded_column) const {
    const std::int64_t row = padded_row - padding_.top;
    const std::int64_t column = padded_column - padding_.left;
    if (row < 0 || row >= height_ || column < 0 || column >= width_) return 0;
    return pixels_[static_cast<std::size_t>(row * width_ + column)];
  }

 private:
  std::span<const float> pixels_;
  std::int64_t height_;
  std::int64_t width_;
  Padding padding_;
};

/// visit(output row, output column) for every pixel of the output.
template <class P, class Visit>
void for_each_pixel(const P& problem, Visit&& visit) {
  for (std::int64_t row = 0; row < problem.output_height(); ++row)
    for (std::int64_t column = 0; column < problem.output_width(); ++column) visit(row, column);
}

}  // namespace

std::vector<double> depthwise_sums(const DepthwiseConvolution& problem, std::span<const float> input,
                                   std::span<const float> filters) {
  std::vector<double> sums;
  const std::int64_t taps = std::int64_t{problem.kernel} * problem.kernel;
  for (std::int64_t plane = 0; plane < problem.batch * problem.channels; ++plane) {
    const PaddedPlane image(input, plane, problem.height, problem.width, problem.padding);
    const std::span<const float> filter =
        filters.subspan(static_cast<std::size_t>(plane % problem.channels * taps), static_cast<std::size_t>(taps));
    for_each_pixel(problem, [&](std::int64_t row, std::int64_t column) {
      double sum = 0;
      for (std::int64_t tap = 0; tap < taps; ++tap)
        sum += static_cast<double>(filter[static_cast<std::size_t>(tap)]) *
               static_cast<double>(image.at(row * problem.stride + tap / problem.kernel,
                                            column * problem.stride + tap % problem.kernel));
      sums.push_back(sum);
    });
  }
  return sums;
}

std::vector<float> im2col(const Im2col& problem, std::span<const float> input) {
  std::vector<float> patches;
  for (std::int64_t plane = 0; plane < problem.batch * problem.channels; ++plane) {
    const PaddedPlane image(input, plane, problem.height, problem.width, problem.padding);
    for (int down = 0; down < problem.kernel_height; ++down)
      for (int right = 0; right < problem.kernel_width; ++right)
        for_each_pixel(problem, [&](std::int64_t row, std::int64_t column) {
          patches.push_back(image.at(row * problem.stride + down, column * problem.stride + right));
        });
  }
  return patches;
}

}  // namespace vostok::sparse
