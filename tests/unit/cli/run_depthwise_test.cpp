#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

const Arguments small = {"--channels", "3", "--height", "11"};

TEST_CASE("depthwise: every option is verified") {
  const Tool tool;
  check_verified(tool, "depthwise", small,
                 {{},
                  {"--width", "13", "--kernel", "5", "--padding", "2", "--dtype", "f16", "--alignment", "2"},
                  {"--stride", "2", "--padding", "0,1,0,1", "--batch", "2", "--epilogue", "bias,relu"},
                  {"--padding", "0", "--epilogue", "relu"},
                  {"--dtype", "f16", "--epilogue", "bias", "--set", "bias_element=f16"}});
}

TEST_CASE("depthwise: the report and JSON tell the problem, and there is no matrix") {
  const Tool tool;
  const Outcome text = tool.run(on_emulator("depthwise", small + Arguments{"--epilogue", "bias"}));
  CAPTURE(text.errors);
  CHECK(contains(text.output, "3 channels of 11x11, 3x3 filters, stride 1, padding 1,1,1,1, f32, epilogue bias"));
  CHECK_FALSE(contains(text.output, "matrix"));
  const auto object = json_of(tool.run(on_emulator("depthwise", small + Arguments{"--stride", "2", "--json"})));
  CHECK(object["channels"] == 3);
  CHECK(object["height"] == 11);
  CHECK(object["width"] == 11);
  CHECK(object["stride"] == 2);
  CHECK_FALSE(object.contains("nonzeros"));
}

TEST_CASE("depthwise: degenerate sizes are right: no channels, no images") {
  const Tool tool;
  check_verified(tool, "depthwise", {}, {{"--channels", "0", "--height", "4"}, {"--channels", "1", "--height", "1"}});
}

TEST_CASE("depthwise: bad input is refused by name") {
  const Tool tool;
  const auto refuse = [&](const Arguments& options, const std::vector<std::string>& parts) {
    check_refused(tool.run(on_emulator("depthwise", options)), parts);
  };
  refuse({"--channels", "3"}, {"--height", "Try: vostok run depthwise --help"});
  refuse(small + Arguments{"--kernel", "4"}, {"kernel = 4"});
  refuse(small + Arguments{"--stride", "3"}, {"stride = 3"});
  refuse(small + Arguments{"--padding", "1,2"}, {"--padding has 2 numbers"});
  refuse(small + Arguments{"--padding=-1"}, {"padding"});
  refuse(small + Arguments{"--epilogue", "residual"}, {"'residual'", "bias, relu, gelu, gelu_tanh, silu"});
  refuse(small + Arguments{"--random", "4x4x0"}, {"--random"});
}

}  // namespace
}  // namespace vostok::cli::testing
