#include "cli/runner.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "cli/exit_status.hpp"
#include "cli/measure.hpp"
#include "cli/progress_line.hpp"
#include "cli/random_matrix.hpp"
#include "cli/run_report.hpp"
#include "context_state.hpp"
#include "plan/topology_state.hpp"
#include "sparse/read.hpp"

namespace vostok::cli {

namespace {

class Stopwatch {
 public:
  double ms() const { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void require_memory(const Job& job, std::int64_t rows, std::int64_t cols, std::int64_t nonzeros) {
  require_host_memory(job.operation(), job.describe({.rows = rows, .cols = cols, .nonzeros = nonzeros}).footprint);
}

/// The matrix and its topology.
struct Loaded {
  sparse::Csr matrix = {};
  Topology topology = {};
};

/// What can be had without a device; nothing of a matrix that the device makes.
sparse::Csr load_matrix(const RunOptions& options, const Job& job) {
  if (!options.matrix.empty()) return sparse::read(options.matrix);
  if (!job.masked()) return {};
  if (!options.band.empty()) {
    const AttentionMask band = parse_band(options.band, options.plan.seed);
    require_memory(job, band.rows, band.cols, expected_nonzeros(band));
    return {};
  }
  if (options.random.empty()) fail(ErrorCode::invalid_argument, "cannot run {}: give --matrix FILE or --random ROWSxCOLSxSPARSITY", job.operation());
  const RandomMatrix shape = parse_random_matrix(options.random);
  require_memory(job, shape.rows, shape.cols, shape.nonzeros());
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

Loaded make_topology(const RunOptions& options, const Context& context, sparse::Csr matrix) {
  if (options.band.empty()) {
    Topology topology = context.topology(matrix.view());
    return {.matrix = std::move(matrix), .topology = std::move(topology)};
  }
  const Topology mask = make_mask(context, parse_band(options.band, options.plan.seed));
  return {.matrix = mask.state()->host_copy(), .topology = mask};
}

std::string source_of(const RunOptions& options) {
  if (!options.matrix.empty()) return options.matrix;
  if (!options.band.empty()) return fmt::format("band {}, seed {}", options.band, options.plan.seed);
  return fmt::format("random {}, seed {}", options.random, options.plan.seed);
}

/// The topology, and what the report tells of it.
Loaded add_matrix(RunReport& report, const RunOptions& options, const Context& context, sparse::Csr matrix) {
  const Stopwatch time;
  Loaded loaded = make_topology(options, context, std::move(matrix));
  report.matrix =
      MatrixReport{.source = source_of(options), .note = loaded.matrix.note, .statistics = loaded.topology.statistics(), .topology_ms = time.ms()};
  return loaded;
}

AnyPlan add_plan(RunReport& report, const RunOptions& options, Job& job, const Context& context, const Topology& topology, ProgressLine& progress) {
  PlanOptions plan_options = options.plan;
  plan_options.progress = [&progress](const std::string& text) { progress.update(text); };
  const Stopwatch time;
  AnyPlan plan = job.plan(context, topology, plan_options);
  report.plan_ms = time.ms();
  report.explanation = plan.explain();
  report.compiled = context.counters().kernels_compiled;
  report.compile_ms = static_cast<double>(context.counters().compile_us) / 1e3;
  return plan;
}

/// Plans, executes on checked operands and measures.
RunReport make_report(const RunOptions& options, Job& job, ProgressLine& progress) {
  sparse::Csr matrix = load_matrix(options, job);
  require_memory(job, matrix.rows, matrix.cols, matrix.nonzeros());
  const Context context = open_context(options, progress);
  device::Device& device = context.state()->session->device();

  RunReport report{.operation = job.operation(), .device = context.device()};
  Loaded loaded;
  if (job.masked()) loaded = add_matrix(report, options, context, std::move(matrix));
  report.subject = job.describe(report.matrix ? report.matrix->statistics : TopologyStatistics{});
  const AnyPlan plan = add_plan(report, options, job, context, loaded.topology, progress);

  const std::unique_ptr<tune::Case> operands = job.make_case(device, loaded.matrix, options.plan.seed);
  const Workspace workspace = plan.make_workspace();
  operands->set_workspace(workspace);
  report.packing = job.pack(device, *operands);
  const auto enqueue = [&](Stream stream) { job.execute(stream, operands->arguments()); };
  report.flops = operands->flops();
  report.check = operands->verify(enqueue);
  if (report.launches()) report.timing = measure(device, enqueue);
  progress.clear();
  return report;
}

}  // namespace

int run(const RunOptions& options, Job& job) {
  if (!(options.plan.budget_seconds >= 0))
    fail(ErrorCode::invalid_argument, "cannot run {}: a budget of {} seconds", job.operation(), options.plan.budget_seconds);
  ProgressLine progress;
  const RunReport report = make_report(options, job, progress);
  const std::string text = options.json ? report_json(report) : report_text(report);
  std::fputs(text.c_str(), stdout);
  // With --json stdout holds one object and nothing else.
  if (options.explain) std::fputs(("\n" + report.explanation.text()).c_str(), options.json ? stderr : stdout);
  return report.verified() ? exit_success : exit_wrong_result;
}

}  // namespace vostok::cli
