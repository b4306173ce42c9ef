// The results of `vostok tune`, as text for people and as JSON for programs.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/text.hpp"
#include "cli/exit_status.hpp"
#include "cli/json_text.hpp"
#include "cli/tuning.hpp"
#include "plan/decision.hpp"

namespace vostok::cli {

namespace {

using nlohmann::ordered_json;

/// The plan's choices: one for each step of a composed plan.
std::span<const Explanation> steps_of(const Explanation& choice) {
  return choice.steps.empty() ? std::span(&choice, 1) : std::span(choice.steps);
}

std::string choice_text(const Explanation& choice) {
  if (choice.family.empty()) return fmt::format("  nothing to compute: {}\n", choice.note);
  std::string text = fmt::format("  {} {} {}\n    {}", choice.operation, choice.family, to_text(choice.config),
                                 name(choice.provenance));
  if (!choice.note.empty()) text += ", " + choice.note;
  if (choice.median_us) text += fmt::format(", {:.2f} us", *choice.median_us);
  if (choice.speedup_over_default)
    text += fmt::format(", {:.2f}x the default config's speed", *choice.speedup_over_default);
  return text + "\n";
}

ordered_json choice_json(const Explanation& choice) {
  ordered_json object = {{"operation", choice.operation},
                         {"family", choice.family},
                         {"config", choice.config},
                         {"provenance", name(choice.provenance)}};
  object["median_us"] = choice.median_us ? ordered_json(*choice.median_us) : ordered_json(nullptr);
  object["bound_us"] = choice.bound_us ? ordered_json(*choice.bound_us) : ordered_json(nullptr);
  object["is_slow"] = choice.is_slow;
  object["speedup_over_default"] =
      choice.speedup_over_default ? ordered_json(*choice.speedup_over_default) : ordered_json(nullptr);
  return object;
}

ordered_json problem_json(const TunedProblem& problem) {
  ordered_json object = {{"line", problem.line->line},
                         {"problem", problem.line->text},
                         {"measured", problem.measured},
                         {"compiled", problem.compiled},
                         {"seconds", problem.seconds}};
  if (!problem.error.empty()) {
    object["error"] = problem.error;
    return object;
  }
  object["choices"] = ordered_json::array();
  for (const Explanation& choice : steps_of(problem.choice)) object["choices"].push_back(choice_json(choice));
  return object;
}

std::int64_t failures(const TuneReport& report) {
  return std::count_if(report.tuned.begin(), report.tuned.end(),
                       [](const TunedProblem& problem) { return !problem.error.empty(); });
}

std::int64_t untuned(const TuneReport& report) {
  return std::count_if(report.tuned.begin(), report.tuned.end(),
                       [](const TunedProblem& problem) { return problem.untuned(); });
}

std::int64_t measured(const TuneReport& report) {
  std::int64_t sum = 0;
  for (const TunedProblem& problem : report.tuned) sum += problem.measured;
  return sum;
}

}  // namespace

bool TunedProblem::untuned() const {
  if (!error.empty()) return false;
  const std::span<const Explanation> steps = steps_of(choice);
  return std::any_of(steps.begin(), steps.end(),
                     [](const Explanation& step) { return !step.family.empty() && !plan::is_tuned(step.provenance); });
}

std::string tune_text(const TuneReport& report) {
  std::string text;
  for (const TunedProblem& problem : report.tuned) {
    text += fmt::format("{}: {}\n", problem.line->line, problem.line->text);
    if (!problem.error.empty()) text += fmt::format("  FAILED: {}\n", problem.error);
    else
      for (const Explanation& choice : steps_of(problem.choice)) text += choice_text(choice);
    text += fmt::format("  {} candidates measured, {} kernels compiled, {:.1f} s\n", problem.measured, problem.compiled,
                        problem.seconds);
  }
  text += fmt::format("{} of {} problems on {}: {} candidates measured in {:.1f} s", report.tuned.size(),
                      report.problems, report.device.name, measured(report), report.seconds);
  if (report.slow > 0) text += fmt::format(", {} whose choice was slow first", report.slow);
  if (failures(report) > 0) text += fmt::format(", {} failed", failures(report));
  if (untuned(report) > 0) text += fmt::format(", {} could not be tuned", untuned(report));
  if (report.interrupted) text += "; interrupted: what was measured is kept, and the same command goes on from there";
  else if (report.tuned.size() < report.problems) text += "; the time limit ended first";
  return text + "\n";
}

std::string tune_json(const TuneReport& report) {
  ordered_json object = {{"device", report.device.name},   {"gpu", report.device.gpu},
                         {"problems", report.problems},    {"slow", report.slow},
                         {"reached", report.tuned.size()}, {"failed", failures(report)},
                         {"untuned", untuned(report)},     {"measured", measured(report)},
                         {"seconds", report.seconds},      {"interrupted", report.interrupted}};
  object["results"] = ordered_json::array();
  for (const TunedProblem& problem : report.tuned) object["results"].push_back(problem_json(problem));
  return json_text(object, one_line);
}

int tune_status(const TuneReport& report) {
  if (report.interrupted) return exit_interrupted;
  return failures(report) > 0 || untuned(report) > 0 ? exit_cannot_run : exit_success;
}

}  // namespace vostok::cli
