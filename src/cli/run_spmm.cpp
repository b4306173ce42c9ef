#include "cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include <vostok/vostok.hpp>

#include "base/text.hpp"
#include "cli/enum_option.hpp"
#include "cli/exit_status.hpp"
#include "cli/host_memory.hpp"
#include "cli/measure.hpp"
#include "cli/progress_line.hpp"
#include "cli/random_matrix.hpp"
#include "cli/spmm_report.hpp"
#include "context_state.hpp"
#include "sparse/read.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::cli {

namespace {

constexpr const char* examples =
    "Examples:\n"
    "  vostok run spmm --matrix layer.smtx --n 256                   plan with what the caches know, verify, measure\n"
    "  vostok run spmm --matrix cora.mtx --n 128 --effort full       tune first; the choice is kept for later plans\n"
    "  vostok run spmm --random 4096x1024x0.95 --n 64 --explain      show every candidate and why it was not taken\n"
    "  vostok run spmm --random 512x512x0.9 --n 64 --json            one JSON object on stdout\n"
    "  vostok run spmm --random 64x64x0.5 --n 8 --device emulator    on the CPU, for correctness";

struct RunOptions {
  std::string matrix;
  std::string random;
  Spmm problem;
  PlanOptions plan;
  std::optional<float> scale;
  std::string device = "auto";
  std::string cache;
  bool explain = false;
  bool json = false;
};

class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

sparse::Csr load_matrix(const RunOptions& options) {
  if (!options.matrix.empty()) return sparse::read(options.matrix);
  if (options.random.empty()) fail(ErrorCode::invalid_argument, "cannot run SpMM: give --matrix FILE or --random ROWSxCOLSxSPARSITY");
  const RandomMatrix shape = parse_random_matrix(options.random);
  require_host_memory("run SpMM", spmm_host_bytes(shape.rows, shape.cols, options.problem.n, shape.nonzeros()));
  return make_random_matrix(shape, options.plan.seed);
}

Context open_context(const RunOptions& options, ProgressLine& progress) {
  Options context{.device = options.device};
  if (!options.cache.empty()) context.cache.folder = options.cache;
  context.log = [&progress](LogLevel level, std::string_view text) {
    progress.note(fmt::format("{}{}", level == LogLevel::warning ? "warning: " : "", text));
  };
  return Context(context);
}

void require_sane(const RunOptions& options) {
  if (options.problem.n < 0) fail(ErrorCode::invalid_argument, "cannot run SpMM: n = {} is negative", options.problem.n);
  if (!(options.plan.budget_seconds >= 0)) fail(ErrorCode::invalid_argument, "cannot run SpMM: a budget of {} seconds", options.plan.budget_seconds);
  if (options.scale && !std::isfinite(*options.scale)) fail(ErrorCode::invalid_argument, "cannot run SpMM: scale = {} is not finite", *options.scale);
}

/// Plans, executes on checked operands and measures.
SpmmReport make_report(const RunOptions& options, ProgressLine& progress) {
  const sparse::Csr matrix = load_matrix(options);
  const Spmm& problem = options.problem;
  require_host_memory("run SpMM", spmm_host_bytes(matrix.rows, matrix.cols, problem.n, matrix.nonzeros()));
  const Context context = open_context(options, progress);
  device::Device& device = context.state()->session->device();

  const Stopwatch topology_time;
  const Topology topology = context.topology(matrix.view());
  SpmmReport report{.note = matrix.note, .statistics = topology.statistics(), .problem = problem, .device = context.device()};
  report.matrix = options.matrix.empty() ? fmt::format("random {}, seed {}", options.random, options.plan.seed) : options.matrix;
  report.scale = options.scale.value_or(1);
  report.topology_ms = topology_time.ms();

  PlanOptions plan_options = options.plan;
  plan_options.progress = [&progress](const std::string& text) { progress.update(text); };
  const Stopwatch plan_time;
  const SpmmPlan plan = context.plan(problem, topology, plan_options);
  report.plan_ms = plan_time.ms();
  report.explanation = plan.explain();
  report.compiled = context.counters().kernels_compiled;
  report.compile_ms = static_cast<double>(context.counters().compile_us) / 1e3;

  tune::SpmmCase operands(device, problem, matrix, options.plan.seed, report.scale);
  const Workspace workspace = plan.make_workspace();
  SpmmArguments arguments = operands.call();
  arguments.workspace = workspace;
  const auto enqueue = [&](Stream stream) { plan.execute(stream, arguments); };
  report.flops = operands.flops();
  report.check = operands.verify(enqueue);
  if (!report.explanation.family.empty()) report.timing = measure(device, enqueue);
  progress.clear();
  return report;
}

int run_spmm(const RunOptions& options) {
  require_sane(options);
  ProgressLine progress;
  const SpmmReport report = make_report(options, progress);
  const std::string text = options.json ? report_json(report) : report_text(report);
  std::fputs(text.c_str(), stdout);
  // With --json stdout holds one object and nothing else.
  if (options.explain) std::fputs(("\n" + report.explanation.text()).c_str(), options.json ? stderr : stdout);
  return report.verified() ? exit_success : exit_wrong_result;
}

}  // namespace

void add_run_spmm(CLI::App& parent, int& status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& app = *parent.add_subcommand("spmm", "Sparse times dense: C[m,n] = A[m,k] B[k,n], in fp32");
  app.footer(examples);
  CLI::Option* matrix =
      app.add_option("--matrix", options->matrix, "A: a .smtx (DLMC), .mtx (Matrix Market) or .npy (dense) file")->type_name("FILE");
  app.add_option("--random", options->random, "A: random, with this share of zeros, e.g. 2048x512x0.9")
      ->type_name("ROWSxCOLSxSPARSITY")
      ->excludes(matrix);
  app.add_option("--n", options->problem.n, "Columns of B and C")->type_name("N")->required();
  add_enum_option(app, "--effort", options->plan.effort, "How hard to plan: heuristic, cached (use what was tuned before), quick or full (tune now)");
  app.add_option("--device", options->device, "auto (a GPU if there is one), cuda:I or emulator")->type_name("DEVICE")->capture_default_str();
  app.add_option("--seed", options->plan.seed, "Of the random matrix, the operands and the tuner")->type_name("SEED")->capture_default_str();
  app.add_option("--budget", options->plan.budget_seconds, "Of quick and full: after these seconds no measurement starts")
      ->type_name("SECONDS")
      ->capture_default_str();
  add_enum_option(app, "--bias", options->problem.epilogue.bias, "Add a bias: none, per_row or per_column");
  add_enum_option(app, "--activation", options->problem.epilogue.activation, "Apply last: none or relu");
  app.add_option("--scale", options->scale, "Multiply the product by this")->type_name("X");
  add_enum_option(app, "--math", options->problem.math, "accurate, or strict (fp32 multiply-adds only)");
  app.add_option("--cache", options->cache, "Folder of the tuning and code caches instead of the default")->type_name("FOLDER");
  app.add_flag("--explain", options->explain, "Tell which candidates there were, how fast, and why each other one was rejected");
  app.add_flag("--json", options->json, "Print one JSON object instead of the report");
  app.callback([options, &status] {
    if (options->scale) options->problem.epilogue.scale = Scale::host;
    status = run_spmm(*options);
  });
}

}  // namespace vostok::cli
