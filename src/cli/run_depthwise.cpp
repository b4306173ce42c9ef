#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <vostok/convolution.hpp>

#include "cli/commands.hpp"
#include "cli/epilogue_option.hpp"
#include "cli/problem_options.hpp"
#include "cli/run_options.hpp"
#include "ops/conv/problem.hpp"
#include "tune/conv_case.hpp"

namespace vostok::cli {

namespace {

constexpr const char* run_depthwise_examples =
    "Examples:\n"
    "  vostok run depthwise --channels 128 --height 56               a 3x3 filter for each channel of a 56x56 image\n"
    "  vostok run depthwise --channels 64 --height 112 --stride 2 --padding 0,1,0,1 --epilogue bias,relu\n"
    "                                                                a layer of MobileNetV1\n"
    "  vostok run depthwise --channels 32 --height 17 --width 23 --kernel 5 --padding 2 --batch 4 --dtype f16";

struct DepthwiseOptions {
  RunOptions run;
  DepthwiseConvolution problem;
  std::vector<std::int64_t> padding = {1};
  std::string epilogue;  ///< as typed
};

class DepthwiseJob final : public JobOf<DepthwiseConvolution> {
 public:
  explicit DepthwiseJob(const DepthwiseOptions& options) : JobOf(options.problem), epilogue_(options.epilogue) {}

  const char* operation() const override { return "depthwise"; }
  Subject describe(const TopologyStatistics& none) const override;
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr&, std::uint64_t seed) const override {
    return std::make_unique<tune::DepthwiseCase>(device, problem(), seed);
  }

 private:
  std::string epilogue_;
};

Subject DepthwiseJob::describe(const TopologyStatistics&) const {
  const DepthwiseConvolution& convolution = problem();
  const Padding& padding = convolution.padding;
  std::string words =
      fmt::format("{} channels of {}x{}, {}x{} filters, stride {}, padding {},{},{},{}", convolution.channels,
                  convolution.height, convolution.width, convolution.kernel, convolution.kernel, convolution.stride,
                  padding.top, padding.bottom, padding.left, padding.right);
  words += problem_words(convolution);
  if (!epilogue_.empty()) words += ", epilogue " + epilogue_;
  const double planes = static_cast<double>(convolution.batch) * static_cast<double>(convolution.channels);
  const double pixels = static_cast<double>(convolution.height) * static_cast<double>(convolution.width);
  return {.problem = words,
          .work = "2 x outputs x filter elements",
          .fields = problem_fields_of(convolution, {{"channels", convolution.channels},
                                                    {"height", convolution.height},
                                                    {"width", convolution.width},
                                                    {"kernel", std::int64_t{convolution.kernel}},
                                                    {"stride", std::int64_t{convolution.stride}},
                                                    {"epilogue", epilogue_}}),
          .footprint = {.inputs = planes * pixels, .outputs = planes * pixels}};
}

/// "1" or "0,1,0,1"
std::vector<std::int64_t> numbers_of(const char* option, const std::string& list) {
  std::vector<std::int64_t> numbers;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    numbers.push_back(number_value(option, list.substr(start, comma - start), size_limits()));
    start = comma + 1;
  }
  return numbers;
}

void set_padding(DepthwiseConvolution& problem, const std::vector<std::int64_t>& sides) {
  if (sides.size() != 1 && sides.size() != 4)
    fail(ErrorCode::invalid_argument,
         "cannot run depthwise: --padding has {} numbers; give one, or TOP,BOTTOM,LEFT,RIGHT", sides.size());
  const bool same = sides.size() == 1;
  problem.padding = {
      .top = sides[0], .bottom = sides[same ? 0 : 1], .left = sides[same ? 0 : 2], .right = sides[same ? 0 : 3]};
}

}  // namespace

void add_depthwise(CLI::App& parent, const TakeJob& take) {
  auto options = std::make_shared<DepthwiseOptions>();
  DepthwiseConvolution& problem = options->problem;
  CLI::App& app =
      *parent.add_subcommand("depthwise", "Depthwise convolution of NCHW images, bias and activation fused");
  app.footer(run_depthwise_examples);
  add_required_size_option(app, "--channels", problem.channels, "Channels, each with a filter of its own");
  add_required_size_option(app, "--height", problem.height, "Of an image");
  CLI::Option* width =
      add_number_option(app, "--width", problem.width, size_limits(), "Of an image; the height where it is not given");
  add_default_number_option(app, "--kernel", problem.kernel, Limits<int>{.least = 0},
                            "Height and width of a filter: 3 or 5");
  add_default_number_option(app, "--stride", problem.stride, Limits<int>{.least = 0, .unit = "pixels"},
                            "Pixels between two outputs: 1 or 2");
  const auto take_padding = [options](const std::string& list) { options->padding = numbers_of("--padding", list); };
  app.add_option_function<std::string>("--padding", take_padding,
                                       "Zeros around an image: one number, or TOP,BOTTOM,LEFT,RIGHT")
      ->type_name("N")
      ->default_str("1")
      ->run_callback_for_default(false);
  add_problem_options(app, problem);
  std::vector<Word> words = {{.text = "bias", .take = [&problem](float) { problem.bias = true; }}};
  for (Word& word : activation_words(problem.activation)) words.push_back(std::move(word));
  add_word_list_option(app, options->epilogue, words);
  add_run_options(app, options->run);
  app.callback([options, width, take] {
    if (width->empty()) options->problem.width = options->problem.height;
    set_padding(options->problem, options->padding);
    set_fields(options->problem, options->run);
    take(options->run, std::make_unique<DepthwiseJob>(*options));
  });
}

}  // namespace vostok::cli
