#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include <vostok/sddmm.hpp>

#include "cli/commands.hpp"
#include "cli/factor.hpp"
#include "cli/problem_options.hpp"
#include "cli/run_options.hpp"
#include "ops/sddmm/problem.hpp"
#include "tune/sddmm_case.hpp"

namespace vostok::cli {

namespace {

constexpr const char* run_sddmm_examples =
    "Examples:\n"
    "  vostok run sddmm --matrix layer.smtx --n 256                  the gradient by a layer's weights, where they are "
    "not zero\n"
    "  vostok run sddmm --random 2048x2048x0.95 --n 64 --batch 8     scores of eight attention heads that share a "
    "mask\n"
    "  vostok run sddmm --random 512x256x0.9 --n 64 --dtype bf16 --output-dtype f32 --scale 0.125\n"
    "  vostok run sddmm --random 512x256x0.9 --n 64 --rhs-layout column_major --multiply\n"
    "                                                                B stored as [n, k]; times the values of another "
    "matrix\n"
    "  vostok run sddmm --random 512x256x0.9 --n 64 --accumulate     added to what the output holds";

struct SddmmOptions {
  RunOptions run;
  Sddmm problem;
  Factor factor;
};

class SddmmJob final : public JobOf<Sddmm> {
 public:
  SddmmJob(const Sddmm& problem, const Factor& factor) : JobOf(problem), factor_(factor) {}

  const char* operation() const override { return "sddmm"; }
  Subject describe(const TopologyStatistics& mask) const override;
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr& mask,
                                        std::uint64_t seed) const override {
    return std::make_unique<tune::SddmmCase>(device, problem(), mask, seed, factor_.value);
  }

 private:
  std::string words(const TopologyStatistics& mask) const;

  Factor factor_;
};

std::string SddmmJob::words(const TopologyStatistics& mask) const {
  const Sddmm& sddmm = problem();
  std::string text = fmt::format("D[{},{}] = (A[{},{}] B[{},{}]^T) o mask", mask.rows, mask.cols, mask.rows, sddmm.n,
                                 mask.cols, sddmm.n);
  if (sddmm.multiply) text += " o C";
  if (sddmm.accumulate) text += " + D";
  text += problem_words(sddmm);
  if (sddmm.lhs_layout != Layout::row_major) text += fmt::format(", A {}", name(sddmm.lhs_layout));
  if (sddmm.rhs_layout != Layout::row_major) text += fmt::format(", B {}", name(sddmm.rhs_layout));
  return text + factor_words(factor_);
}

Subject SddmmJob::describe(const TopologyStatistics& mask) const {
  const Sddmm& sddmm = problem();
  const double lhs =
      stored_elements(sddmm.lhs_layout, mask.rows, sddmm.n, sddmm.lhs_leading, sddmm.lhs_stride, sddmm.batch);
  const double rhs =
      stored_elements(sddmm.rhs_layout, mask.cols, sddmm.n, sddmm.rhs_leading, sddmm.rhs_stride, sddmm.batch);
  return {.problem = words(mask),
          .work = sddmm.batch == 1 ? "2 x nonzeros x n" : "2 x nonzeros x n x batch",
          .fields = problem_fields_of(sddmm, {{"m", mask.rows},
                                              {"k", mask.cols},
                                              {"n", sddmm.n},
                                              {"nonzeros", mask.nonzeros},
                                              {"lhs_layout", name(sddmm.lhs_layout)},
                                              {"rhs_layout", name(sddmm.rhs_layout)},
                                              {"math", name(sddmm.math)},
                                              {"multiply", sddmm.multiply},
                                              {"accumulate", sddmm.accumulate}}),
          .footprint = {
              .rows = static_cast<double>(mask.rows),
              .nonzeros = static_cast<double>(mask.nonzeros),
              .inputs = lhs + rhs,
              .outputs = stored_elements(Layout::row_major, 1, mask.nonzeros, 0, sddmm.output_stride, sddmm.batch)}};
}

}  // namespace

void add_sddmm(CLI::App& parent, const TakeJob& take) {
  auto options = std::make_shared<SddmmOptions>();
  Sddmm& problem = options->problem;
  CLI::App& app =
      *parent.add_subcommand("sddmm", "Dense times dense, where a mask is: D[m,k] = (A[m,n] B[k,n]^T) o mask");
  app.footer(run_sddmm_examples);
  add_matrix_options(app, options->run, "The mask");
  add_required_size_option(app, "--n", problem.n, "The inner size: columns of A and of B");
  add_problem_options(app, problem);
  add_enum_option(app, "--lhs-layout", problem.lhs_layout, "Of A: row_major, or column_major (stored as [n, m])");
  add_enum_option(app, "--rhs-layout", problem.rhs_layout, "Of B: row_major, or column_major (stored as [n, k])");
  add_size_option(app, "--lhs-leading", problem.lhs_leading,
                  "Elements between two rows of A (columns, where column_major); 0: packed");
  add_size_option(app, "--rhs-leading", problem.rhs_leading, "The same of B");
  app.add_flag("--multiply", problem.multiply, "Multiply by the values of a sparse C");
  app.add_flag("--accumulate", problem.accumulate, "Add to what the output holds");
  add_factor_options(app, options->factor, "the products");
  add_run_options(app, options->run);
  app.callback([options, take] {
    options->problem.scale = options->factor.kind;
    set_fields(options->problem, options->run);
    take(options->run, std::make_unique<SddmmJob>(options->problem, options->factor));
  });
}

}  // namespace vostok::cli
