#include <CLI/CLI.hpp>
#include <memory>

#include <vostok/convolution.hpp>

#include "cli/commands.hpp"
#include "cli/problem_options.hpp"
#include "cli/run_options.hpp"
#include "ops/conv/problem.hpp"
#include "tune/conv_case.hpp"

namespace vostok::cli {

namespace {

constexpr const char* run_im2col_examples =
    "Examples:\n"
    "  vostok run im2col --channels 64 --height 56 --width 56        patches of 3x3 as the columns of a matrix\n"
    "  vostok run im2col --channels 3 --height 224 --width 224 --set kernel_height=7 --set kernel_width=7 --set "
    "stride=2";

struct Im2colOptions {
  RunOptions run;
  Im2col problem;
};

class Im2colJob final : public JobOf<Im2col> {
 public:
  using JobOf::JobOf;

  const char* operation() const override { return "im2col"; }
  Subject describe(const TopologyStatistics&) const override {
    const Im2col& image = problem();
    const double planes = static_cast<double>(image.batch) * static_cast<double>(image.channels);
    const double pixels = planes * static_cast<double>(image.height) * static_cast<double>(image.width);
    return {.problem = fmt::format("{} channels of {}x{}, {}x{} patches, stride {}", image.channels, image.height,
                                   image.width, image.kernel_height, image.kernel_width, image.stride) +
                       problem_words(image),
            .work = "a copy of each element of a patch",
            .fields = problem_fields_of(image, {{"channels", image.channels},
                                                {"height", image.height},
                                                {"width", image.width},
                                                {"kernel_height", std::int64_t{image.kernel_height}},
                                                {"kernel_width", std::int64_t{image.kernel_width}},
                                                {"stride", std::int64_t{image.stride}}}),
            .footprint = {.inputs = pixels, .outputs = pixels * image.kernel_height * image.kernel_width}};
  }
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr&, std::uint64_t seed) const override {
    return std::make_unique<tune::Im2colCase>(device, problem(), seed);
  }
};

}  // namespace

void add_im2col(CLI::App& parent, const TakeJob& take) {
  auto options = std::make_shared<Im2colOptions>();
  Im2col& problem = options->problem;
  CLI::App& app = *parent.add_subcommand(
      "im2col", "Patches of NCHW images as the columns of a matrix, so that a convolution is a product");
  app.footer(run_im2col_examples);
  add_required_size_option(app, "--channels", problem.channels, "Of an image");
  add_required_size_option(app, "--height", problem.height, "Of an image");
  add_required_size_option(app, "--width", problem.width, "Of an image");
  add_problem_options(app, problem);
  add_run_options(app, options->run);
  app.callback([options, take] {
    set_fields(options->problem, options->run);
    take(options->run, std::make_unique<Im2colJob>(options->problem));
  });
}

}  // namespace vostok::cli
