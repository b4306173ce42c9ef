#include "sparse/conv_reference.hpp"

#include <doctest/doctest.h>

using namespace vostok;

TEST_CASE("the depthwise reference slides each channel's filter over its own padded image") {
  const DepthwiseConvolution problem{.channels = 2, .height = 2, .width = 3, .stride = 2, .padding = {1, 0, 0, 1}};
  const std::vector<float> input = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<float> filters(18, 0);
  filters[3] = 1;       // channel 0: left of the middle row
  filters[9 + 8] = 10;  // channel 1: the last element
  CHECK(sparse::depthwise_sums(problem, input, filters) == std::vector<double>{1, 120});
  const DepthwiseConvolution wider{.channels = 1, .height = 2, .width = 3, .padding = {1, 1, 1, 1}};
  std::vector<float> middle(9, 0);
  middle[4] = 1;
  CHECK(sparse::depthwise_sums(wider, std::span(input).first(6), middle) == std::vector<double>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("the im2col reference orders rows by channel, filter row and filter column") {
  const Im2col problem{
      .channels = 2, .height = 2, .width = 2, .kernel_height = 1, .kernel_width = 2, .padding = {.right = 1}};
  const std::vector<float> input = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(sparse::im2col(problem, input) == std::vector<float>{1, 2, 3, 4, 2, 0, 4, 0, 5, 6, 7, 8, 6, 0, 8, 0});
}
