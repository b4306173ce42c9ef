// The blocks of a trained, pruned MobileNetV1: depthwise convolution, bias, ReLU, then a sparse 1x1 convolution, bias,
// ReLU.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "base/text.hpp"
#include "device/devices.hpp"
#include "device/kernel_devices.hpp"
#include "sparse/read.hpp"
#include "sparse/reference.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using test::Floats;

namespace {

constexpr std::uint64_t seed = 77;
constexpr std::int64_t image = 8;  ///< height and width of what goes into every block

struct Block {
  int stride;
  sparse::Csr contraction;
  std::vector<float> contraction_values, contraction_bias, filters, filter_bias;

  std::int64_t channels() const { return contraction.cols; }
};

std::vector<float> floats(const std::filesystem::path& file) {
  const std::vector<double> values = sparse::read_array(file).values;
  return {values.begin(), values.end()};
}

Block read_block(const std::filesystem::path& folder, int number) {
  const bool halves = number == 1 || number == 3 || number == 5 || number == 11;
  Block block{.stride = halves ? 2 : 1,
              .contraction = sparse::read(folder / fmt::format("contraction_1x1_{}.npy", number)),
              .contraction_values = {},
              .contraction_bias = floats(folder / fmt::format("contraction_1x1_{}_bias.npy", number)),
              .filters = floats(folder / fmt::format("depthwise_nxn_{}.npy", number)),
              .filter_bias = floats(folder / fmt::format("depthwise_nxn_{}_bias.npy", number))};
  block.contraction_values.assign(block.contraction.values.begin(), block.contraction.values.end());
  return block;
}

/// "same" padding as the network was trained with: what is odd goes below and to the right.
DepthwiseConvolution depthwise_of(const Block& block) {
  const std::int64_t all = block.stride == 1 ? 2 : 1;
  return {.channels = block.channels(),
          .height = image,
          .width = image,
          .kernel = 3,
          .stride = block.stride,
          .padding = {.top = all / 2, .bottom = all - all / 2, .left = all / 2, .right = all - all / 2},
          .bias = true,
          .activation = Activation::relu};
}

std::vector<float> reference_depthwise(const Block& block, const DepthwiseConvolution& of,
                                       const std::vector<float>& input) {
  std::vector<float> output;
  for (std::int64_t c = 0; c < of.channels; ++c)
    for (std::int64_t y = 0; y < of.output_height(); ++y)
      for (std::int64_t x = 0; x < of.output_width(); ++x) {
        double sum = static_cast<double>(block.filter_bias[static_cast<std::size_t>(c)]);
        for (int dy = 0; dy < 3; ++dy)
          for (int dx = 0; dx < 3; ++dx) {
            const std::int64_t row = y * of.stride + dy - of.padding.top, column = x * of.stride + dx - of.padding.left;
            if (row < 0 || row >= image || column < 0 || column >= image) continue;
            sum += static_cast<double>(block.filters[static_cast<std::size_t>(c * 9 + dy * 3 + dx)]) *
                   static_cast<double>(input[static_cast<std::size_t>((c * image + row) * image + column)]);
          }
        output.push_back(static_cast<float>(std::max(sum, 0.0)));
      }
  return output;
}

std::vector<double> reference_contraction(const Block& block, const std::vector<float>& input, std::int64_t pixels) {
  std::vector<double> output = sparse::spmm(block.contraction, block.contraction_values, input, pixels, pixels);
  for (std::int64_t row = 0; row < block.contraction.rows; ++row)
    for (std::int64_t p = 0; p < pixels; ++p) {
      double& value = output[static_cast<std::size_t>(row * pixels + p)];
      value = std::max(value + static_cast<double>(block.contraction_bias[static_cast<std::size_t>(row)]), 0.0);
    }
  return output;
}

}  // namespace

TEST_CASE("every block of a trained MobileNetV1 agrees with float64") {
  std::filesystem::path data;
  if (!sparse::testing::find_data(data)) return;
  MESSAGE("seed " << seed);
  const int blocks = test::thread_sanitized ? 2 : 12;
  if (test::thread_sanitized)
    MESSAGE("skipped: 10 of 12 blocks, which take ThreadSanitizer many minutes, the other builds run them");
  for (const std::string& name : test::device_names()) {
    const Context context = test::memory_context(name);
    device::Device& device = test::device_of(context);
    for (int number = 0; number < blocks; ++number) {
      CAPTURE(name);
      CAPTURE(number);
      const Block block = read_block(data / "mobilenetv1", number);
      const DepthwiseConvolution depthwise = depthwise_of(block);
      const std::int64_t pixels = depthwise.output_height() * depthwise.output_width();
      const std::vector<float> x =
          sparse::normal_values(block.channels() * image * image, seed + static_cast<std::uint64_t>(number));
      const Floats input(device, x), filters(device, block.filters), filter_bias(device, block.filter_bias);
      const Floats values(device, block.contraction_values), bias(device, block.contraction_bias);
      const Floats middle(device, std::vector<float>(static_cast<std::size_t>(block.channels() * pixels), NAN));
      const Floats output(device, std::vector<float>(static_cast<std::size_t>(block.contraction.rows * pixels), NAN));

      const DepthwisePlan first = context.plan(depthwise);
      const SpmmPlan second =
          context.plan(Spmm{.n = pixels, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}},
                       context.topology(block.contraction.view()));
      const Workspace first_workspace = first.make_workspace(), second_workspace = second.make_workspace();
      first.execute(nullptr, {.input = input.data(),
                              .filters = filters.data(),
                              .bias = filter_bias.data(),
                              .output = middle.data(),
                              .workspace = first_workspace});
      second.execute(nullptr, {.values = values.data(),
                               .dense = middle.data(),
                               .output = output.data(),
                               .bias = bias.data(),
                               .workspace = second_workspace});
      device.synchronize(nullptr);
      const std::vector<double> wanted = reference_contraction(block, reference_depthwise(block, depthwise, x), pixels);
      CHECK(sparse::relative_error(output.read(), pixels, wanted, block.contraction.rows, pixels) < 1e-6);
    }
  }
}
