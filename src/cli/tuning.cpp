#include "cli/tuning.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "cli/interrupt.hpp"
#include "cli/matrix_source.hpp"
#include "cli/progress_line.hpp"
#include "cli/tool_context.hpp"
#include "ops/product_bound.hpp"

namespace vostok::cli {

namespace {

class Tuning {
 public:
  Tuning(const TuneOptions& options, const std::vector<ProblemLine>& lines)
      : options_(options),
        lines_(lines),
        context_(context_options(options.device, options.cache, progress_, options.tool)) {}

  TuneReport run() {
    TuneReport report{.device = context_.device(), .problems = lines_.size()};
    for (const ProblemLine* line : ordered(report)) {
      if (Interrupt::requested() || seconds_left() <= 0) break;
      report.tuned.push_back(tune(*line, lines_.size() - report.tuned.size()));
    }
    report.interrupted = Interrupt::requested();
    report.seconds = time_.seconds();
    return report;
  }

 private:
  /// The lines, slow ones first. Checking present choices takes at most a tenth of the limit, and at most a minute.
  std::vector<const ProblemLine*> ordered(TuneReport& report) {
    const double most_seconds = std::min(60.0, options_.time_limit_seconds.value_or(600) / 10);
    const bool known = lines_.size() > 1 && ops::has_product_bounds(context_.state()->session->device());
    const auto goes_on = [&] { return known && time_.seconds() < most_seconds && !Interrupt::requested(); };
    const auto is_slow = [&](const ProblemLine& line) {
      progress_.update(
          fmt::format("looking at what problem {} of {} takes today", &line - lines_.data() + 1, lines_.size()));
      const bool slow = has_slow_choice(line);
      report.slow += slow ? 1 : 0;
      return slow;
    };
    return slow_first(lines_, is_slow, goes_on);
  }

  /// Ignores errors, which are reported when the problem is tuned.
  bool has_slow_choice(const ProblemLine& line) const {
    try {
      const Loaded loaded = load(line.options, *line.job, context_);
      const PlanOptions options{
          .seed = line.options.plan.seed, .family = line.options.plan.family, .policy = options_.policy};
      const plan::Survey survey = line.job->survey(context_, loaded.topology, options);
      return std::any_of(survey.choices.begin(), survey.choices.end(),
                         [](const plan::SurveyedChoice& choice) { return choice.slow(); });
    } catch (const std::exception&) {
      return false;
    }
  }

  double seconds_left() const {
    if (!options_.time_limit_seconds) return std::numeric_limits<double>::infinity();
    return *options_.time_limit_seconds - time_.seconds();
  }

  /// Time that earlier problems left unused goes to the later ones.
  PlanOptions plan_options(const ProblemLine& line, std::size_t left) {
    PlanOptions plan{.effort = options_.effort,
                     .budget_seconds = seconds_left() / static_cast<double>(left),
                     .seed = line.options.plan.seed,
                     .family = line.options.plan.family,
                     .policy = options_.policy,
                     .stop = [this] { return Interrupt::requested() || seconds_left() <= 0; }};
    plan.progress = [this, place = lines_.size() - left + 1](const std::string& text) {
      const std::string limit =
          options_.time_limit_seconds ? fmt::format(", {:.0f} s left", std::max(0.0, seconds_left())) : "";
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

std::vector<const ProblemLine*> slow_first(const std::vector<ProblemLine>& lines,
                                           const std::function<bool(const ProblemLine&)>& is_slow,
                                           const std::function<bool()>& goes_on) {
  std::vector<const ProblemLine*> list;
  std::vector<const ProblemLine*> others;
  for (const ProblemLine& line : lines) (goes_on() && is_slow(line) ? list : others).push_back(&line);
  list.insert(list.end(), others.begin(), others.end());
  return list;
}

TuneReport tune_problems(const TuneOptions& options, const std::vector<ProblemLine>& lines) {
  const Interrupt interrupt;
  return Tuning(options, lines).run();
}

}  // namespace vostok::cli
