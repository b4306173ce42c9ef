#include "cli/runner.hpp"

#include <utility>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"
#include "cli/launch_watch.hpp"
#include "cli/matrix_source.hpp"
#include "cli/measure.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_report.hpp"
#include "cli/tool_context.hpp"
#include "context_state.hpp"

namespace vostok::cli {

namespace {

Options run_options(const RunOptions& options, ProgressLine& progress, const std::filesystem::path& tool) {
  Options chosen = context_options(options.device, options.cache, progress, tool);
  if (options.never_compile) chosen.compile = CompilePolicy::never;
  return chosen;
}

/// Makes the topology, and adds the matrix to the report.
Loaded add_matrix(RunReport& report, const RunOptions& options, std::optional<Dtype> type, const Context& context,
                  sparse::Csr matrix) {
  const Stopwatch time;
  Loaded loaded = make_topology(context, std::move(matrix));
  report.matrix = MatrixReport{.source = source_words(options),
                               .note = loaded.matrix.note,
                               .statistics = loaded.topology.statistics(),
                               .topology_ms = time.ms()};
  report.matrix->notes = source_notes(options, report.matrix->statistics);
  if (type && !loaded.matrix.values.empty()) {
    report.matrix->values = sparse::value_facts(*type, std::span<const double>(loaded.matrix.values));
    report.matrix->value_type = *type;
  }
  return loaded;
}

AnyPlan add_plan(RunReport& report, const RunOptions& options, Job& job, const Context& context,
                 const Topology& topology, ProgressLine& progress) {
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

/// Reports slow activities on the emulator: often on a terminal, now and then in a log.
LaunchWatch watch(const device::Device& device, ProgressLine& progress) {
  using std::chrono::milliseconds;
  constexpr milliseconds patience(3000);
  return {[&device] { return device.progress(); }, [&progress](const std::string& text) { progress.update(text); },
          patience, ProgressLine::is_on_terminal() ? milliseconds(500) : milliseconds(10'000)};
}

/// False for an empty batch, which has no operands.
bool has_operands(const AnyProblem& any) {
  const auto batch = [](const auto& problem) {
    if constexpr (requires { problem.forward; }) return problem.forward.batch;
    else return problem.batch;
  };
  return std::visit(batch, any) > 0;
}

/// Plans, executes on verified operands and measures.
RunReport make_report(const RunOptions& options, Job& job, ProgressLine& progress, const std::filesystem::path& tool) {
  sparse::Csr matrix = load_matrix(options, job);
  const Context context(run_options(options, progress, tool));
  device::Device& device = context.state()->session->device();

  RunReport report{.operation = job.operation(), .device = context.device()};
  Loaded loaded;
  if (job.masked()) loaded = add_matrix(report, options, job.value_type(), context, std::move(matrix));
  report.subject = job.describe(report.matrix ? report.matrix->statistics : TopologyStatistics{});
  const AnyPlan plan = add_plan(report, options, job, context, loaded.topology, progress);

  if (!has_operands(job.value())) return report;
  LaunchWatch waiting = watch(device, progress);
  waiting.begin("making operands and their float64 result", 0);
  const std::unique_ptr<tune::Case> operands = job.make_case(device, loaded.matrix, options.plan.seed);
  const Workspace workspace = plan.make_workspace();
  operands->set_workspace(workspace);
  report.packing = job.pack(device, *operands);
  const auto enqueue = [&](Stream stream) { job.execute(stream, operands->arguments()); };
  report.flops = operands->flops();
  waiting.begin("verifying on the emulator", 1);
  report.check = operands->verify(enqueue);
  waiting.begin("measuring on the emulator", executes_of_slow_measurement);
  if (report.launches()) report.timing = measure(device, enqueue);
  return report;
}

}  // namespace

int run(const RunOptions& options, Job& job, const std::filesystem::path& tool) {
  ProgressLine progress;
  const RunReport report = make_report(options, job, progress, tool);
  progress.clear();
  print(options.json ? report_json(report) : report_text(report));
  // With --json stdout contains one object and nothing else.
  if (options.explain) (options.json ? print_aside : print)("\n" + report.explanation.text());
  return report.verified() ? exit_success : exit_wrong_result;
}

}  // namespace vostok::cli
