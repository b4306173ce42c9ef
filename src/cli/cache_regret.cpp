// `vostok cache regret`: the quality of choices made without measuring, by leaving each tuned problem out.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cache/tuning_content.hpp"
#include "cli/cache_commands.hpp"
#include "cli/console.hpp"
#include "cli/enum_option.hpp"
#include "cli/exit_status.hpp"
#include "cli/json_text.hpp"
#include "cli/tool_context.hpp"
#include "device/device.hpp"
#include "plan/predicted_choice.hpp"
#include "plan/regret.hpp"

namespace vostok::cli {

namespace {

constexpr const char* cache_regret_examples =
    "Examples:\n"
    "  vostok cache regret tuning.db                  the table of every operation\n"
    "  vostok cache regret tuning.db --policy cold --json\n"
    "\n"
    "For every problem and device with a winner, what is stored of that problem on devices of that model is hidden, "
    "and a choice is made without\n"
    "it: the nearest neighbour's, the cost model's (heuristic) and the fastest family's default config. Regret is the "
    "time of that choice over the\n"
    "winner's, from the trials in the file; a choice that was not measured on the problem counts as absent. No GPU is "
    "needed.";

struct RegretOptions {
  std::string file;
  std::optional<Policy> policy;  ///< absent: both
  bool json = false;
};

std::vector<plan::TunedProblem> tuned_problems(const cache::TuningContent& content,
                                               const std::optional<Policy>& policy) {
  std::map<std::string, plan::TunedProblem> problems;
  const auto entry = [&](const plan::ProblemKey& problem, const plan::DeviceKey& device) -> plan::TunedProblem& {
    plan::TunedProblem& found = problems[cache::subject_name(problem, device)];
    found.problem = problem;
    found.device = device;
    return found;
  };
  for (const auto& row : content.trials) entry(row.problem, row.device).trials.push_back(row.trial);
  for (const auto& row : content.winners) entry(row.problem, row.device).winner = row.winner;
  std::vector<plan::TunedProblem> list;
  for (auto& [subject, problem] : problems)
    if (!policy || problem.problem.policy == name(*policy)) list.push_back(std::move(problem));
  return list;
}

/// Predicted choices, for devices as the file describes them; each device is opened once.
class Predictions {
 public:
  std::optional<std::pair<std::string, FieldMap>> operator()(const plan::ProblemKey& problem,
                                                             const plan::DeviceKey& key) {
    const std::string what = fields_of(key);
    if (!devices_.contains(what)) devices_[what] = open(what);
    const auto& device = devices_[what];
    return device ? plan::predicted_choice(problem, *device) : std::nullopt;
  }

 private:
  /// Nothing for the emulator's rows.
  static std::shared_ptr<device::Device> open(const std::string& what) {
    try {
      return device::open_compile_only(what, {});
    } catch (const Error&) {
      return nullptr;
    }
  }

  std::map<std::string, std::shared_ptr<device::Device>> devices_;
};

/// Regrets by operation, and over all of them.
std::map<std::string, std::vector<plan::Regret>> by_operation(const std::vector<plan::LeftOut>& all) {
  std::map<std::string, std::vector<plan::LeftOut>> groups;
  for (const plan::LeftOut& left_out : all) {
    groups[left_out.problem.operation].push_back(left_out);
    groups["all"].push_back(left_out);
  }
  std::map<std::string, std::vector<plan::Regret>> table;
  for (const auto& [operation, members] : groups) table[operation] = plan::regrets(members);
  return table;
}

std::string table_text(const std::map<std::string, std::vector<plan::Regret>>& table) {
  std::string text = fmt::format("{:<18} {:<10} {:>8} {:>7} {:>8} {:>8}  {}\n", "operation", "choice", "problems",
                                 "absent", "geomean", "worst", "");
  for (const auto& [operation, ways] : table)
    for (const plan::Regret& way : ways)
      text += way.problems == 0
                  ? fmt::format("{:<18} {:<10} {:>8} {:>7} {:>8} {:>8}\n", operation, way.way, 0, way.absent, "-", "-")
                  : fmt::format("{:<18} {:<10} {:>8} {:>7} {:>8.3f} {:>8.3f}  {}\n", operation, way.way, way.problems,
                                way.absent, way.geomean, way.worst, way.worst_problem);
  return text;
}

std::string table_json(const std::map<std::string, std::vector<plan::Regret>>& table) {
  using nlohmann::ordered_json;
  ordered_json object = ordered_json::object();
  for (const auto& [operation, ways] : table)
    for (const plan::Regret& way : ways) {
      ordered_json row = {{"problems", way.problems},
                          {"absent", way.absent},
                          {"geomean", nullptr},
                          {"worst", nullptr},
                          {"worst_problem", nullptr}};
      if (way.problems > 0) {
        row["geomean"] = way.geomean;
        row["worst"] = way.worst;
        row["worst_problem"] = way.worst_problem;
      }
      object[operation][way.way] = std::move(row);
    }
  return json_text(object);
}

int run_regret(const RegretOptions& options) {
  const auto problems = tuned_problems(cache::read_content(options.file), options.policy);
  Predictions predictions;
  const auto table = by_operation(plan::leave_each_out(problems, std::ref(predictions)));
  print(options.json ? table_json(table) : table_text(table));
  return exit_success;
}

}  // namespace

void add_cache_regret(CLI::App& parent, int& status) {
  auto options = std::make_shared<RegretOptions>();
  CLI::App& app = *parent.add_subcommand(
      "regret", "What choices cost that are made without measuring: each tuned problem left out in turn");
  app.footer(cache_regret_examples);
  app.add_option("file", options->file, "A tuning.db, or its dump")->type_name("FILE")->required();
  add_enum_option(app, "--policy", options->policy, "Only what was tuned so: warm or cold");
  app.add_flag("--json", options->json, "Print one JSON object instead of the table");
  app.callback([options, &status] { status = run_regret(*options); });
}

}  // namespace vostok::cli
