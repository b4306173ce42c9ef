#include "cli/pack_choices.hpp"

#include <algorithm>
#include <set>
#include <thread>

#include "base/each_in_turn.hpp"
#include "base/text.hpp"
#include "cli/interrupt.hpp"
#include "cli/pack_candidates.hpp"
#include "cli/pack_tally.hpp"
#include "cli/pack_tools.hpp"
#include "codegen/fields.hpp"
#include "context_state.hpp"
#include "plan/decision.hpp"
#include "plan/features.hpp"
#include "plan/nearest.hpp"
#include "plan/packed.hpp"
#include "plan/task_text.hpp"
#include "sparse/generate.hpp"
#include "sparse/transpose.hpp"

namespace vostok::cli {

namespace {

/// A matrix with such columns and row lengths. It has fewer rows than the choice's if those would make it large: the
/// kernels that make forms are the same for any number of rows, except for the index type if the matrix is multiplied
/// transposed.
sparse::Csr stand_in(const plan::Features& features, bool transposed) {
  constexpr double enough_nonzeros = 1 << 20;
  constexpr std::int64_t needs_wide_indices = (1 << 16) + 1;
  const double mean_row = static_cast<double>(features.nonzeros) / static_cast<double>(features.m);
  const auto few_rows = static_cast<std::int64_t>(enough_nonzeros / std::max(mean_row, 1.0));
  const std::int64_t rows = std::min(features.m, std::max(few_rows, transposed ? needs_wide_indices : 1));
  const sparse::Csr csr =
      sparse::uniform(rows, features.k, 1 - mean_row / static_cast<double>(features.k), 1, features.row_variation);
  return transposed ? sparse::transpose(csr).csr : csr;
}

/// The types of the task's operands and output.
std::vector<Dtype> element_types(const plan::TaskText& text) {
  std::set<Dtype> types;
  for (const char* field : {"element", "output"})
    if (const auto found = text.problem.find(field); found != text.problem.end())
      if (const auto type = codegen::parse_value<Dtype>(found->second)) types.insert(*type);
  return {types.begin(), types.end()};
}

class ChoicePacking {
 public:
  ChoicePacking(const Context& context, int candidates, PackTally& tally)
      : context_(context), planner_(*context.state()->planner), candidates_(candidates), tally_(tally) {}

  void pack(const cache::WinnerRow& row) {
    const auto text = plan::text_of(row.problem);
    if (!text) fail(ErrorCode::invalid_argument, "this version does not know its fields");
    const auto transposed = text->problem.find("sparse_transposed");
    sparse::Csr matrix;
    Topology topology;
    const bool masked = row.problem.features.m > 0;
    if (masked) {
      matrix = stand_in(row.problem.features, transposed != text->problem.end() && transposed->second == "true");
      topology = context_.topology(matrix.view());
    }
    const plan::Choice choice = choose(*text, topology);
    const plan::Decision& decision = *choice.decision;
    const bool is_its_own = decision.family->name() == row.winner.family &&
                            decision.family->read(row.winner.config) == std::optional(decision.config);
    tally_.count(is_its_own, choice.decision->provenance != Provenance::heuristic);
    if (masked) compile_tools(context_, matrix, topology, element_types(*text));
  }

 private:
  plan::Choice choose(const plan::TaskText& text, const Topology& topology) const {
    const plan::Task task = plan::rebuilt_task(planner_, text, topology, 1);
    plan::Choice choice = planner_.choose(task, {.policy = text.policy});
    const std::string format = choice.decision->family->packed_format(*task.query, choice.decision->config);
    if (task.packing && !format.empty()) {
      const plan::PackingKernel kernel = task.packing->kernel(format);
      planner_.session()->kernels().get(kernel.request, kernel.shared_bytes);
    }
    compile_candidates(*planner_.session(), *task.query, topology, candidates_);
    return choice;
  }

  const Context& context_;
  const plan::Planner& planner_;
  int candidates_;
  PackTally& tally_;
};

}  // namespace

std::vector<cache::WinnerRow> choices_for(const std::vector<std::string>& files, const plan::DeviceKey& device) {
  std::vector<cache::WinnerRow> choices;
  std::set<std::string> known;
  for (const std::string& file : files)
    for (cache::WinnerRow& row : cache::read_content(file).winners)
      if (plan::same_model(row.device, device) && known.insert(cache::subject_name(row.problem, device)).second)
        choices.push_back(std::move(row));
  return choices;
}

PackedDevice pack_choices(const Context& context, const std::vector<cache::WinnerRow>& choices, int candidates,
                          ProgressLine& line, std::vector<std::string>& failures) {
  PackTally tally(context, line, choices.size());
  ChoicePacking packing(context, candidates, tally);
  std::vector<std::string> reasons(choices.size());
  each_in_turn(choices.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    if (Interrupt::requested()) return;
    try {
      packing.pack(choices[i]);
    } catch (const std::exception& error) {
      reasons[i] =
          fmt::format("{}, {}: {}", plan::key_words(choices[i].problem), choices[i].winner.family, error.what());
    }
    tally.one_is_done();
  });
  for (std::string& reason : reasons)
    if (!reason.empty()) failures.push_back(std::move(reason));
  return tally.packed();
}

}  // namespace vostok::cli
