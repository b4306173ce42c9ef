#include "cli/problem_check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/json_text.hpp"
#include "cli/matrix_source.hpp"
#include "cli/progress_line.hpp"
#include "cli/tool_context.hpp"

namespace vostok::cli {

namespace {

using nlohmann::ordered_json;

CheckedProblem check_one(const ProblemLine& line, const Context& context) {
  CheckedProblem checked{.line = &line};
  try {
    const Loaded loaded = load(line.options, *line.job, context);
    checked.survey = line.job->survey(context, loaded.topology,
                                      {.seed = line.options.plan.seed, .family = line.options.plan.family});
  } catch (const std::exception& error) {
    checked.error = error.what();
  }
  return checked;
}

std::string choice_text(const plan::SurveyedChoice& choice) {
  const plan::Decision& decision = choice.decision;
  const auto stored = std::count_if(choice.kernels.begin(), choice.kernels.end(),
                                    [](const plan::SurveyedKernel& kernel) { return kernel.stored; });
  std::string text = fmt::format("  {}\n    choice: {} {}\n    from: {}", choice.words(), decision.family->name(),
                                 to_text(decision.config.to_map()), name(decision.provenance));
  if (!decision.note.empty()) text += ", " + decision.note;
  text += fmt::format("\n    kernels: {} of {} stored\n", stored, choice.kernels.size());
  for (const plan::SurveyedKernel& kernel : choice.kernels)
    if (!kernel.stored) text += fmt::format("      missing: {}\n", kernel.expression);
  return text;
}

std::string verdict(const CheckedProblem& problem) {
  if (!problem.error.empty()) return fmt::format("  FAILS: {}\n", problem.error);
  std::string text = problem.plans_without_compiler()
                         ? "  plan: compiles nothing"
                         : "  plan: has to compile, and fails where Options::compile is never";
  if (!problem.packs_without_compiler()) text += "; packing new values has to compile";
  if (!problem.plans_from_cache_only()) text += "; fails with Options::cache_only";
  return text + "\n";
}

std::string problem_text(const CheckedProblem& problem) {
  std::string text = fmt::format("{}: {}\n", problem.line->line, problem.line->text);
  for (const plan::SurveyedChoice& choice : problem.survey.choices) text += choice_text(choice);
  for (const plan::SurveyedKernel& kernel : problem.survey.packing)
    text += kernel.stored ? "    packing new values: stored\n"
                          : fmt::format("    packing new values: missing: {}\n", kernel.expression);
  for (const std::string& form : problem.survey.missing_forms)
    text += fmt::format("    a derived form of the topology is missing: {}\n", form);
  return text + verdict(problem);
}

ordered_json choice_json(const plan::SurveyedChoice& choice) {
  ordered_json object = {{"query", choice.words()},
                         {"family", choice.decision.family->name()},
                         {"config", choice.decision.config.to_map()},
                         {"provenance", name(choice.decision.provenance)},
                         {"note", choice.decision.note},
                         {"tuned", choice.tuned()}};
  object["kernels"] = ordered_json::array();
  for (const plan::SurveyedKernel& kernel : choice.kernels)
    object["kernels"].push_back({{"expression", kernel.expression}, {"stored", kernel.stored}});
  return object;
}

ordered_json problem_json(const CheckedProblem& problem) {
  ordered_json object = {{"line", problem.line->line},
                         {"problem", problem.line->text},
                         {"plans_without_compiler", problem.plans_without_compiler()},
                         {"packs_without_compiler", problem.packs_without_compiler()},
                         {"plans_from_cache_only", problem.plans_from_cache_only()}};
  if (!problem.error.empty()) object["error"] = problem.error;
  object["choices"] = ordered_json::array();
  for (const plan::SurveyedChoice& choice : problem.survey.choices) object["choices"].push_back(choice_json(choice));
  object["missing_choices"] = problem.survey.missing_choices();
  object["missing_kernels"] = problem.survey.missing_kernels();
  object["missing_forms"] = problem.survey.missing_forms;
  return object;
}

}  // namespace

bool CheckedProblem::plans_without_compiler() const { return error.empty() && survey.plans_without_compiler(); }

bool CheckedProblem::packs_without_compiler() const { return error.empty() && survey.packs_without_compiler(); }

bool CheckedProblem::plans_from_cache_only() const { return error.empty() && survey.missing_choices().empty(); }

bool ProblemCheck::complete() const {
  return std::all_of(problems.begin(), problems.end(), [](const CheckedProblem& problem) {
    return problem.plans_without_compiler() && problem.packs_without_compiler();
  });
}

ProblemCheck check_problems(const std::vector<ProblemLine>& lines, const std::string& device,
                            const std::string& cache) {
  ProgressLine progress;
  Options options = context_options(device, cache, progress);
  options.compile = CompilePolicy::never;
  const Context context(options);
  ProblemCheck check{.device = context.device()};
  for (const ProblemLine& line : lines) check.problems.push_back(check_one(line, context));
  return check;
}

std::string check_text(const ProblemCheck& check) {
  std::string text;
  for (const CheckedProblem& problem : check.problems) text += problem_text(problem);
  const auto count = [&](const auto& holds) {
    return std::count_if(check.problems.begin(), check.problems.end(), holds);
  };
  return text +
         fmt::format(
             "{} problems on {}: {} plan without a compiler, {} from tuned choices alone, {} cannot be planned\n",
             check.problems.size(), check.device.name,
             count([](const CheckedProblem& problem) { return problem.plans_without_compiler(); }),
             count([](const CheckedProblem& problem) { return problem.plans_from_cache_only(); }),
             count([](const CheckedProblem& problem) { return !problem.error.empty(); }));
}

std::string check_json(const ProblemCheck& check) {
  ordered_json object = {{"device", check.device.name}, {"complete", check.complete()}};
  object["problems"] = ordered_json::array();
  for (const CheckedProblem& problem : check.problems) object["problems"].push_back(problem_json(problem));
  return json_text(object, one_line);
}

}  // namespace vostok::cli
