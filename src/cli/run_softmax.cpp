#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include <vostok/softmax.hpp>

#include "cli/commands.hpp"
#include "cli/factor.hpp"
#include "cli/problem_options.hpp"
#include "cli/run_options.hpp"
#include "ops/softmax/problem.hpp"
#include "tune/softmax_case.hpp"

namespace vostok::cli {

namespace {

constexpr const char* run_softmax_examples =
    "Examples:\n"
    "  vostok run softmax --random 2048x2048x0.9                     over the rows of a sparse matrix\n"
    "  vostok run softmax --matrix scores.mtx --scale 0.125          of the matrix's own values, scaled\n"
    "  vostok run softmax --random 2048x2048x0.9 --batch 8 --dtype f32 --output-dtype f16 --statistics write\n"
    "                                                                as attention does: with the log-sum-exp of each "
    "row\n"
    "  vostok run softmax --random 2048x2048x0.9 --backward          the gradient";

struct SoftmaxOptions {
  RunOptions run;
  Softmax problem;
  Factor factor;
  bool backward = false;
};

/// Elements between two items of a batch; 0: packed.
struct Strides {
  std::int64_t input = 0;
  std::int64_t other = 0;  ///< of the second input
  std::int64_t output = 0;
};

/// Describes what the problems of both directions share.
template <class Problem>
Subject describe_softmax(const Problem& problem, const std::string& formula, const Factor& factor,
                         const TopologyStatistics& matrix, const Strides& strides, const std::vector<Field>& more) {
  std::vector<Field> fields = {{"m", matrix.rows}, {"k", matrix.cols}, {"nonzeros", matrix.nonzeros}};
  fields.insert(fields.end(), more.begin(), more.end());
  const auto elements = [&](std::int64_t stride) {
    return stored_elements(Layout::row_major, 1, matrix.nonzeros, 0, stride, problem.batch);
  };
  return {.problem = formula + problem_words(problem) + factor_words(factor),
          .work = problem.batch == 1 ? "5 x nonzeros" : "5 x nonzeros x batch",
          .fields = problem_fields_of(problem, fields),
          .footprint = {.rows = static_cast<double>(matrix.rows),
                        .nonzeros = static_cast<double>(matrix.nonzeros),
                        .inputs = elements(strides.input) + elements(strides.other),
                        .outputs = elements(strides.output)}};
}

class SoftmaxJob final : public JobOf<Softmax> {
 public:
  SoftmaxJob(const Softmax& problem, const Factor& factor) : JobOf(problem), factor_(factor) {}

  const char* operation() const override { return "softmax"; }
  std::optional<Dtype> value_type() const override { return problem().element; }
  Subject describe(const TopologyStatistics& matrix) const override {
    std::string formula = fmt::format("Y[{},{}] = softmax(X[{},{}]) over the nonzeros of each row", matrix.rows,
                                      matrix.cols, matrix.rows, matrix.cols);
    if (problem().statistics != RowStatistics::none)
      formula += fmt::format(", statistics {}", name(problem().statistics));
    const Strides strides{
        .input = problem().value_stride, .other = problem().value_stride, .output = problem().output_stride};
    return describe_softmax(problem(), formula, factor_, matrix, strides,
                            {{"backward", false}, {"statistics", name(problem().statistics)}});
  }
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr& matrix,
                                        std::uint64_t seed) const override {
    return std::make_unique<tune::SoftmaxCase>(device, problem(), matrix, seed, factor_.value);
  }

 private:
  Factor factor_;
};

class SoftmaxBackwardJob final : public JobOf<SoftmaxBackward> {
 public:
  SoftmaxBackwardJob(const SoftmaxBackward& problem, const Factor& factor) : JobOf(problem), factor_(factor) {}

  const char* operation() const override { return "softmax"; }
  std::optional<Dtype> value_type() const override { return problem().element; }
  Subject describe(const TopologyStatistics& matrix) const override {
    const std::string formula = fmt::format("dX[{},{}] = Y o (dY - rows of sum Y dY)", matrix.rows, matrix.cols);
    const Strides strides{.input = problem().probability_stride,
                          .other = problem().output_gradient_stride,
                          .output = problem().input_gradient_stride};
    return describe_softmax(problem(), formula, factor_, matrix, strides, {{"backward", true}});
  }
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr& matrix,
                                        std::uint64_t seed) const override {
    return std::make_unique<tune::SoftmaxBackwardCase>(device, problem(), matrix, seed, factor_.value);
  }

 private:
  Factor factor_;
};

std::unique_ptr<Job> make_job(const SoftmaxOptions& options) {
  const Softmax& forward = options.problem;
  if (options.backward) {
    SoftmaxBackward backward{.batch = forward.batch,
                             .element = forward.element,
                             .output = forward.output,
                             .alignment_bytes = forward.alignment_bytes,
                             .scale = forward.scale};
    set_fields(backward, options.run);
    return std::make_unique<SoftmaxBackwardJob>(backward, options.factor);
  }
  Softmax problem = forward;
  set_fields(problem, options.run);
  return std::make_unique<SoftmaxJob>(problem, options.factor);
}

}  // namespace

void add_softmax(CLI::App& parent, const TakeJob& take) {
  auto options = std::make_shared<SoftmaxOptions>();
  Softmax& problem = options->problem;
  CLI::App& app = *parent.add_subcommand("softmax", "Softmax over the rows of a sparse matrix, and its gradient");
  app.footer(run_softmax_examples);
  add_matrix_options(app, options->run, "X");
  add_problem_options(app, problem);
  add_factor_options(app, options->factor, "X");
  CLI::Option* statistics =
      add_enum_option(app, "--statistics", problem.statistics,
                      "Log-sum-exp of each row: none, write (beside Y) or read (instead of reducing the row)");
  app.add_flag("--backward", options->backward, "The gradient by X, from Y and the gradient by Y")
      ->excludes(statistics);
  add_run_options(app, options->run);
  app.callback([options, take] {
    options->problem.scale = options->factor.kind;
    take(options->run, make_job(*options));
  });
}

}  // namespace vostok::cli
