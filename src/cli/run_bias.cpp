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

constexpr const char* run_bias_examples =
    "Examples:\n"
    "  vostok run bias --rows 512 --columns 3136                     a bias for each row, and ReLU\n"
    "  vostok run bias --rows 128 --columns 1000 --set bias=per_column --set activation=gelu --dtype f16";

struct BiasOptions {
  RunOptions run;
  BiasActivation problem;
};

class BiasJob final : public JobOf<BiasActivation> {
 public:
  using JobOf::JobOf;

  const char* operation() const override { return "bias"; }
  Subject describe(const TopologyStatistics&) const override {
    const BiasActivation& dense = problem();
    const double elements =
        static_cast<double>(dense.batch) * static_cast<double>(dense.rows) * static_cast<double>(dense.columns);
    return {.problem = fmt::format("{}({} x {} + bias {})", name(dense.activation), dense.rows, dense.columns,
                                   name(dense.bias)) +
                       problem_words(dense),
            .work = "an addition for each element",
            .fields = problem_fields_of(dense, {{"rows", dense.rows},
                                                {"columns", dense.columns},
                                                {"bias", name(dense.bias)},
                                                {"activation", name(dense.activation)}}),
            .footprint = {.inputs = elements, .outputs = elements}};
  }
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr&, std::uint64_t seed) const override {
    return std::make_unique<tune::BiasActivationCase>(device, problem(), seed);
  }
};

}  // namespace

void add_bias(CLI::App& parent, const TakeJob& take) {
  auto options = std::make_shared<BiasOptions>();
  BiasActivation& problem = options->problem;
  CLI::App& app = *parent.add_subcommand("bias", "Bias and activation of a dense matrix: y = activation(x + bias)");
  app.footer(run_bias_examples);
  add_required_size_option(app, "--rows", problem.rows, "Of the matrix");
  add_required_size_option(app, "--columns", problem.columns, "Of the matrix");
  add_problem_options(app, problem);
  add_run_options(app, options->run);
  app.callback([options, take] {
    set_fields(options->problem, options->run);
    take(options->run, std::make_unique<BiasJob>(options->problem));
  });
}

}  // namespace vostok::cli
