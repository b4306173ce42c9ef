#include "cli/runner.hpp"

#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "cli/exit_status.hpp"
#include "cli/matrix_source.hpp"
#include "cli/measure.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_report.hpp"
#include "cli/stopwatch.hpp"
#include "cli/tool_context.hpp"
#include "context_state.hpp"

namespace vostok::cli {

namespace {

Options run_options(const RunOptions& options, ProgressLine& progress, const std::filesystem::path& tool) {
  Options chosen = context_options(options.device, options.cache, progress, tool);
  if (options.never_compile) chosen.compile = CompilePolicy::never;
  return chosen;
}

/// The topology, and what the report tells of it.
Loaded add_matrix(RunReport& report, const RunOptions& options, const Context& context, sparse::Csr matrix) {
  const Stopwatch time;
  Loaded loaded = make_topology(context, std::move(matrix));
  report.matrix =
      MatrixReport{.source = source_words(options), .note = loaded.matrix.note, .statistics = loaded.topology.statistics(), .topology_ms = time.ms()};
  return loaded;
}

AnyPlan add_plan(RunReport& report, const RunOptions& options, Job& job, const Context& context, const Topology& topology, ProgressLine& progress) {
  PlanOptions plan_options = options.plan;
  plan_options.progress = [&progress](const std::string& text) { progress.update(text); };
  const Stopwatch time;
  AnyPlan plan = job.plan(context, topology, plan_options);
  report.plan_ms = time.ms();
  report.explanation = plan.explain(options.explain ? Detail::trials : Detail::choice);
  report.compiled = context.counters().kernels_compiled;
  report.compile_ms = static_cast<double>(context.counters().compile_us) / 1e3;
  return plan;
}

/// Plans, executes on checked operands and measures.
RunReport make_report(const RunOptions& options, Job& job, ProgressLine& progress, const std::filesystem::path& tool) {
  sparse::Csr matrix = load_matrix(options, job);
  const Context context(run_options(options, progress, tool));
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

int run(const RunOptions& options, Job& job, const std::filesystem::path& tool) {
  if (!(options.plan.budget_seconds >= 0))
    fail(ErrorCode::invalid_argument, "cannot run {}: a budget of {} seconds", job.operation(), options.plan.budget_seconds);
  ProgressLine progress;
  const RunReport report = make_report(options, job, progress, tool);
  const std::string text = options.json ? report_json(report) : report_text(report);
  std::fputs(text.c_str(), stdout);
  // With --json stdout holds one object and nothing else.
  if (options.explain) std::fputs(("\n" + report.explanation.text()).c_str(), options.json ? stderr : stdout);
  return report.verified() ? exit_success : exit_wrong_result;
}

}  // namespace vostok::cli
