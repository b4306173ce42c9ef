#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include <vostok/spmm.hpp>

#include "cli/commands.hpp"
#include "cli/epilogue_option.hpp"
#include "cli/problem_options.hpp"
#include "cli/run_options.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/packed.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::cli {

namespace {

constexpr const char* run_spmm_examples =
    "Examples:\n"
    "  vostok run spmm --matrix layer.smtx --n 256                   plan with what the caches know, verify, measure\n"
    "  vostok run spmm --matrix cora.mtx --n 128 --effort full       tune first; the choice is kept for later plans\n"
    "  vostok run spmm --random 4096x1024x0.95 --n 64 --explain      show every candidate and why it was not taken\n"
    "  vostok run spmm --random 512x512x0.9 --n 64 --dtype f16 --output-dtype f32 --json\n"
    "                                                                16-bit operands, one JSON object on stdout\n"
    "  vostok run spmm --random 512x256x0.9 --n 64 --layout column_major --output-layout column_major\n"
    "                                                                activations as frameworks keep them: [tokens, "
    "features]\n"
    "  vostok run spmm --random 512x256x0.9 --n 64 --transpose       the gradient by a layer's input: A^T B\n"
    "  vostok run spmm --random 4096x4096x0.9 --n 64 --value-lifetime persistent\n"
    "                                                                an inference engine's weights: packed once, in "
    "the plan's format\n"
    "  vostok run spmm --random 512x256x0.9 --n 64 --epilogue scale=0.5,bias_per_row,residual,gelu\n"
    "  vostok run spmm --random 64x64x0.5 --n 8 --device emulator    on the CPU, for correctness";

struct SpmmOptions {
  RunOptions run;
  Spmm problem;
  float factor = 1;      ///< of the epilogue's scale
  std::string epilogue;  ///< as typed
};

class SpmmJob final : public JobOf<Spmm> {
 public:
  explicit SpmmJob(const SpmmOptions& options)
      : JobOf(options.problem), factor_(options.factor), epilogue_(options.epilogue) {}

  const char* operation() const override { return "spmm"; }
  std::optional<Dtype> value_type() const override { return problem().element; }
  Subject describe(const TopologyStatistics& matrix) const override;
  std::unique_ptr<tune::Case> make_case(device::Device& device, const sparse::Csr& matrix,
                                        std::uint64_t seed) const override {
    return std::make_unique<tune::SpmmCase>(device, problem(), matrix, seed, factor_);
  }
  std::optional<PackingReport> pack(device::Device& device, tune::Case& operands) override;

 private:
  std::string words(std::int64_t m, std::int64_t k) const;

  float factor_;
  std::string epilogue_;
  PackedValues packed_;
};

std::string layout_words(const char* operand, Layout layout, std::int64_t leading) {
  std::string words;
  if (layout != Layout::row_major) words += fmt::format(", {} {}", operand, name(layout));
  if (leading != 0) words += fmt::format(", {} leading {}", operand, leading);
  return words;
}

std::string SpmmJob::words(std::int64_t m, std::int64_t k) const {
  const Spmm& spmm = problem();
  std::string text = spmm.sparse_transposed ? fmt::format("C[{},{}] = A^T[{},{}] B[{},{}]", k, spmm.n, k, m, m, spmm.n)
                                            : fmt::format("C[{},{}] = A[{},{}] B[{},{}]", m, spmm.n, m, k, k, spmm.n);
  text += problem_words(spmm) + layout_words("B", spmm.dense_layout, spmm.dense_leading) +
          layout_words("C", spmm.output_layout, spmm.output_leading);
  if (spmm.values_per_batch) text += ", values per batch";
  if (spmm.value_lifetime == ValueLifetime::persistent) text += ", values packed once";
  if (!epilogue_.empty()) text += ", epilogue " + epilogue_;
  return text;
}

std::optional<PackingReport> SpmmJob::pack(device::Device& device, tune::Case& operands) {
  if (problem().value_lifetime != ValueLifetime::persistent) return std::nullopt;
  const void* const values = operands.values();
  packed_ = made_plan().pack(nullptr, values);
  operands.set_packed(packed_);
  const std::int64_t stride = problem().value_stride != 0 ? problem().value_stride : packed_.topology().nonzeros();
  // Packs the same values into the same memory, so that what executes read does not change.
  const auto again = [&](Stream stream) {
    plan::queue_packing(*packed_.state(), {.values = values, .element = problem().element, .stride = stride}, stream);
  };
  return PackingReport{.format = packed_.format(), .bytes = packed_.bytes(), .timing = measure(device, again)};
}

Subject SpmmJob::describe(const TopologyStatistics& matrix) const {
  const Spmm& spmm = problem();
  const std::int64_t dense_rows = spmm.sparse_transposed ? matrix.rows : matrix.cols;
  const std::int64_t output_rows = spmm.sparse_transposed ? matrix.cols : matrix.rows;
  return {.problem = words(matrix.rows, matrix.cols),
          .work = spmm.batch == 1 ? "2 x nonzeros x n" : "2 x nonzeros x n x batch",
          .fields = problem_fields_of(spmm, {{"m", matrix.rows},
                                             {"k", matrix.cols},
                                             {"n", spmm.n},
                                             {"nonzeros", matrix.nonzeros},
                                             {"transpose", spmm.sparse_transposed},
                                             {"layout", name(spmm.dense_layout)},
                                             {"output_layout", name(spmm.output_layout)},
                                             {"math", name(spmm.math)},
                                             {"value_lifetime", name(spmm.value_lifetime)},
                                             {"epilogue", epilogue_}}),
          .footprint = {.rows = static_cast<double>(matrix.rows),
                        .nonzeros = stored_elements(Layout::row_major, 1, matrix.nonzeros, 0, spmm.value_stride,
                                                    spmm.values_per_batch ? spmm.batch : 1),
                        .inputs = stored_elements(spmm.dense_layout, dense_rows, spmm.n, spmm.dense_leading,
                                                  spmm.dense_stride, spmm.batch),
                        .outputs = stored_elements(spmm.output_layout, output_rows, spmm.n, spmm.output_leading,
                                                   spmm.output_stride, spmm.batch)}};
}

}  // namespace

void add_spmm(CLI::App& parent, const TakeJob& take) {
  auto options = std::make_shared<SpmmOptions>();
  Spmm& problem = options->problem;
  CLI::App& app = *parent.add_subcommand("spmm", "Sparse times dense: C[m,n] = A[m,k] B[k,n]");
  app.footer(run_spmm_examples);
  add_matrix_options(app, options->run, "A");
  add_required_size_option(app, "--n", problem.n, "Columns of B and C");
  add_problem_options(app, problem);
  app.add_flag("--transpose", problem.sparse_transposed, "Multiply by A^T: C[k,n] = A^T B[m,n]");
  add_enum_option(app, "--value-lifetime", problem.value_lifetime,
                  "per_call: values are passed at every call; persistent: packed once");
  app.add_flag("--values-per-batch", problem.values_per_batch, "Each of the batch has values of A of its own");
  add_enum_option(app, "--layout", problem.dense_layout, "Of B: row_major, or column_major (stored as [n, k])");
  add_enum_option(app, "--output-layout", problem.output_layout, "Of C: row_major, or column_major (stored as [n, m])");
  add_size_option(app, "--leading", problem.dense_leading,
                  "Elements between two rows of B (columns, where column_major); 0: packed");
  add_size_option(app, "--output-leading", problem.output_leading, "The same of C");
  add_epilogue_option(app, problem.epilogue, options->factor, options->epilogue);
  add_run_options(app, options->run);
  app.callback([options, take] {
    set_fields(options->problem, options->run);
    take(options->run, std::make_unique<SpmmJob>(*options));
  });
}

}  // namespace vostok::cli
