#include "plan/survey.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "ops/product_bound.hpp"
#include "plan/features.hpp"
#include "plan/packed.hpp"
#include "sparse/transpose.hpp"

namespace vostok::plan {

namespace {

/// A planner that decides as planning does, but loads nothing and records what it found.
class SurveyPlanner final : public Planner {
 public:
  SurveyPlanner(std::shared_ptr<Session> session, Survey& survey) : Planner(std::move(session)), survey_(survey) {}

  std::vector<Choice> choose_all(std::vector<Task> tasks, const PlanOptions& options) const override {
    const auto decisions = decide_each(tasks, options);
    for (std::size_t i = 0; i < tasks.size(); ++i) note(tasks[i], *decisions[i]);
    if (!tasks.empty()) note_packing(tasks.back(), *decisions.back());
    return {};
  }

  TopologyStatistics statistics(const Topology& topology, bool transposed) const override {
    TopologyStatistics found;
    if (built([&] { found = Planner::statistics(topology, transposed); })) return found;
    const sparse::Csr transpose = sparse::transpose(topology.state()->host_copy()).csr;
    return sparse::statistics(transpose.rows, transpose.cols, transpose.row_offsets, transpose.column_indices);
  }

 protected:
  std::shared_ptr<const Decision> decide(const Task& task, const PlanOptions& options) const override {
    std::vector<Decision> stored;
    if (options.effort != Effort::heuristic || session()->cache_only()) stored = admitted(*task.query);
    if (!stored.empty()) return std::make_shared<const Decision>(std::move(stored.front()));
    return std::make_shared<const Decision>(
        predicted(*task.query, "no tuned choice is stored for this problem or one near it"));
  }

 private:
  SurveyedKernel looked_up(const codegen::KernelRequest& request, std::int64_t shared_bytes) const {
    return {.expression = request.expression, .stored = session()->kernels().has(request, shared_bytes)};
  }

  /// Looks at one decision only: all choices of a plan read one format.
  void note_packing(const Task& task, const Decision& decision) const {
    if (!task.packing) return;
    const PackingKernel kernel = task.packing->kernel(decision.family->packed_format(*task.query, decision.config));
    survey_.packing.push_back(looked_up(kernel.request, kernel.shared_bytes));
  }

  void note(const Task& task, const Decision& decision) const {
    const ops::Query& query = *task.query;
    SurveyedChoice choice{.query = task.query, .decision = decision};
    for (const ops::Launch& launch : decision.family->launches(query, decision.config, {}))
      choice.kernels.push_back(looked_up(launch.request(), launch.shared_bytes()));
    survey_.choices.push_back(std::move(choice));
    if (!task.topology) return;
    for (const std::string& missing : task.topology.state()->missing_steps()) note_missing(missing);
    built([&] { task.topology.state()->pointers(decision.family->needs(query, decision.config)); });
  }

  /// False, after noting it, if a kernel of the library's own steps is missing.
  template <class Build>
  bool built(const Build& build) const {
    try {
      build();
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::missing_kernel) throw;
      note_missing(error.what());
      return false;
    }
  }

  void note_missing(const std::string& missing) const {
    std::vector<std::string>& notes = survey_.missing_forms;
    if (std::find(notes.begin(), notes.end(), missing) == notes.end()) notes.push_back(missing);
  }

  Survey& survey_;
};

bool all_stored(const std::vector<SurveyedKernel>& kernels) {
  return std::all_of(kernels.begin(), kernels.end(), [](const SurveyedKernel& kernel) { return kernel.stored; });
}

std::string listed(const char* what, const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += fmt::format("\n  {}: {}", what, item);
  return text;
}

}  // namespace

std::string SurveyedChoice::words() const { return query_words(*query); }

bool SurveyedChoice::tuned() const { return is_tuned(decision.provenance); }

bool SurveyedChoice::slow() const {
  const auto bound = ops::product_bound(*query);
  return bound && bound->exceeded_by(expected_us(*query, decision));
}

std::vector<std::string> Survey::missing_choices() const {
  std::vector<std::string> queries;
  for (const SurveyedChoice& choice : choices)
    if (!choice.tuned()) queries.push_back(choice.words());
  return queries;
}

std::vector<std::string> Survey::missing_kernels() const {
  std::vector<std::string> expressions;
  const auto add = [&](const std::vector<SurveyedKernel>& kernels) {
    for (const SurveyedKernel& kernel : kernels)
      if (!kernel.stored && std::find(expressions.begin(), expressions.end(), kernel.expression) == expressions.end())
        expressions.push_back(kernel.expression);
  };
  for (const SurveyedChoice& choice : choices) add(choice.kernels);
  add(packing);
  return expressions;
}

bool Survey::plans_without_compiler() const {
  return missing_forms.empty() && std::all_of(choices.begin(), choices.end(),
                                              [](const SurveyedChoice& choice) { return all_stored(choice.kernels); });
}

bool Survey::packs_without_compiler() const { return all_stored(packing); }

Survey survey(const std::shared_ptr<Session>& session, const std::function<void(const Planner&)>& make) {
  Survey found;
  const auto planner = std::make_shared<SurveyPlanner>(session, found);
  make(*planner);
  return found;
}

Error shortage(const Session& session, const Survey& survey, const Error& first) {
  const auto choices = session.cache_only() ? survey.missing_choices() : std::vector<std::string>();
  const auto kernels =
      session.compile() == CompilePolicy::never ? survey.missing_kernels() : std::vector<std::string>();
  const auto forms = session.compile() == CompilePolicy::never ? survey.missing_forms : std::vector<std::string>();
  if (choices.empty() && kernels.empty() && forms.empty()) return first;
  return {choices.empty() ? ErrorCode::missing_kernel : ErrorCode::missing_choice,
          fmt::format("cannot plan: {} tuned choices (Options::cache_only), {} kernels and {} derived forms "
                      "(Options::compile is never) are missing:{}{}{}",
                      choices.size(), kernels.size(), forms.size(), listed("choice", choices),
                      listed("kernel", kernels), listed("form", forms))};
}

}  // namespace vostok::plan
