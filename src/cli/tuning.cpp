#include "cli/tuning.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/text.hpp"
#include "cli/interrupt.hpp"
#include "cli/matrix_source.hpp"
#include "cli/progress_line.hpp"
#include "cli/stopwatch.hpp"
#include "cli/tool_context.hpp"

namespace vostok::cli {

namespace {

class Tuning {
 public:
  Tuning(const TuneOptions& options, const std::vector<ProblemLine>& lines)
      : options_(options), lines_(lines), context_(context_options(options.device, options.cache, progress_, options.tool)) {}

  TuneReport run() {
    TuneReport report{.device = context_.device(), .problems = lines_.size()};
    for (const ProblemLine& line : lines_) {
      if (Interrupt::requested() || seconds_left() <= 0) break;
      report.tuned.push_back(tune(line, lines_.size() - report.tuned.size()));
    }
    report.interrupted = Interrupt::requested();
    report.seconds = time_.seconds();
    return report;
  }

 private:
  double seconds_left() const {
    if (!options_.time_limit_seconds) return std::numeric_limits<double>::infinity();
    return *options_.time_limit_seconds - time_.seconds();
  }

  /// What earlier problems left of their shares is the later ones'.
  PlanOptions plan_options(const ProblemLine& line, std::size_t left) {
    PlanOptions plan{.effort = options_.effort,
                     .budget_seconds = seconds_left() / static_cast<double>(left),
                     .seed = line.options.plan.seed,
                     .family = line.options.plan.family,
                     .policy = options_.policy,
                     .stop = [this] { return Interrupt::requested() || seconds_left() <= 0; }};
    plan.progress = [this, place = lines_.size() - left + 1](const std::string& text) {
      const std::string limit = options_.time_limit_seconds ? fmt::format(", {:.0f} s left", std::max(0.0, seconds_left())) : "";
      progress_.update(fmt::format("problem {}/{}{}: {}", place, lines_.size(), limit, text));
    };
    return plan;
  }

  TunedProblem tune(const ProblemLine& line, std::size_t left) {
    const Stopwatch time;
    const Counters before = context_.counters();
    TunedProblem problem{.line = &line};
    try {
      const Loaded loaded = load(line.options, *line.job, context_);
      problem.choice = line.job->plan(context_, loaded.topology, plan_options(line, left)).explain(Detail::choice);
    } catch (const std::exception& error) {
      problem.error = error.what();
    }
    const Counters after = context_.counters();
    problem.measured = after.trials_measured - before.trials_measured;
    problem.compiled = after.kernels_compiled - before.kernels_compiled;
    problem.seconds = time.seconds();
    return problem;
  }

  const TuneOptions& options_;
  const std::vector<ProblemLine>& lines_;
  ProgressLine progress_;
  Context context_;
  Stopwatch time_;
};

}  // namespace

TuneReport tune_problems(const TuneOptions& options, const std::vector<ProblemLine>& lines) {
  const Interrupt interrupt;
  return Tuning(options, lines).run();
}

}  // namespace vostok::cli
