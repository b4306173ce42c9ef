// `vostok cache ls` and `show`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "base/text.hpp"
#include "cache/code_rows.hpp"
#include "cache/summary.hpp"
#include "cache/tuning_content.hpp"
#include "cli/cache_commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"
#include "cli/json_text.hpp"

namespace vostok::cli {

namespace {

using nlohmann::ordered_json;

void print_json(const ordered_json& value) { print(json_text(value)); }

// --- ls --------------------------------------------------------------------------------------------------------------

std::string summary_text(const cache::FileSummary& file) {
  const std::string rows =
      file.content == cache::Content::code
          ? fmt::format("{} kernels", file.kernels)
          : fmt::format("{} winners, {} trials, {} problems on {} devices{}", file.winners, file.trials, file.problems,
                        file.devices, file.errata == 0 ? "" : fmt::format(", {} errata", file.errata));
  const std::string signer = file.signer ? fmt::format(", signed by {}...", file.signer->hex.substr(0, 8)) : "";
  return fmt::format("{}: {}, {}{}\n", file.path.string(), rows, kibibytes(file.bytes), signer);
}

ordered_json summary_json(const cache::FileSummary& file) {
  ordered_json object = {
      {"path", file.path.string()}, {"content", cache::file_name(file.content)}, {"bytes", file.bytes}};
  if (file.content == cache::Content::code) object["kernels"] = file.kernels;
  else
    object.update({{"devices", file.devices},
                   {"problems", file.problems},
                   {"winners", file.winners},
                   {"trials", file.trials},
                   {"errata", file.errata}});
  object["signer"] = file.signer ? ordered_json(file.signer->hex) : ordered_json();
  return object;
}

int list_files(const std::vector<std::string>& given, bool json) {
  std::vector<std::filesystem::path> files(given.begin(), given.end());
  if (files.empty()) files = cache_files_here();
  ordered_json array = ordered_json::array();
  std::string text;
  int status = exit_success;
  for (const std::filesystem::path& file : files) {
    try {
      const cache::FileSummary summary = cache::summarise(file);
      text += summary_text(summary);
      array.push_back(summary_json(summary));
    } catch (const Error& error) {
      tell(error.what());
      status = exit_bad_input;
    }
  }
  if (json) print_json(array);
  else print(files.empty() ? "there is no cache file yet\n" : text);
  return status;
}

// --- show ------------------------------------------------------------------------------------------------------------

struct ShowOptions {
  std::string file;
  std::string operation;
  std::string device;
  bool trials = false;
  bool json = false;
};

bool is_shown(const ShowOptions& options, const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  const bool this_operation = options.operation.empty() || options.operation == problem.operation;
  return this_operation && (options.device.empty() || device.name.find(options.device) != std::string::npos ||
                            device.uuid == options.device);
}

/// Sorts devices and problems by their names and sizes; rows of one problem stay together.
template <class Row>
void sort_rows(std::vector<Row>& rows) {
  const auto order = [](const Row& row) {
    const plan::Features& f = row.problem.features;
    return std::tuple(row.device.name, row.device.uuid, row.problem.operation, row.problem.exact, row.problem.policy,
                      f.m, f.k, f.nonzeros, f.n, f.row_variation, f.longest_row);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return order(a) < order(b); });
}

std::string problem_text(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  const plan::Features& f = problem.features;
  return fmt::format("{}  m {} k {} n {} nonzeros {} row variation {:.2f}, {}, on {} ({})\n  {}\n", problem.operation,
                     f.m, f.k, f.n, f.nonzeros, f.row_variation, problem.policy, device.name, device.uuid,
                     problem.exact);
}

ordered_json optional_json(const std::optional<double>& value) { return value ? ordered_json(*value) : ordered_json(); }

ordered_json problem_json(const plan::ProblemKey& problem, const plan::DeviceKey& device) {
  const plan::Features& f = problem.features;
  return {{"operation", problem.operation},
          {"exact", problem.exact},
          {"policy", problem.policy},
          {"m", f.m},
          {"k", f.k},
          {"n", f.n},
          {"nonzeros", f.nonzeros},
          {"longest_row", f.longest_row},
          {"row_variation", f.row_variation},
          {"device",
           {{"name", device.name},
            {"uuid", device.uuid},
            {"architecture", device.architecture},
            {"multiprocessors", device.multiprocessors}}}};
}

std::string winner_text(const cache::WinnerRow& row) {
  const plan::WinnerRecord& w = row.winner;
  const std::string gain =
      w.default_median_us ? fmt::format(", {:.2f}x the default", *w.default_median_us / w.median_us) : "";
  return fmt::format("  {:.2f} us{}: {} {} (effort {}, {} rounds, vostok {}, driver {})\n", w.median_us, gain, w.family,
                     to_text(w.config), name(w.effort), w.rounds, w.library_version, row.device.driver);
}

ordered_json winner_json(const cache::WinnerRow& row) {
  ordered_json object = problem_json(row.problem, row.device);
  const plan::WinnerRecord& w = row.winner;
  object.update({{"family", w.family},
                 {"config", w.config},
                 {"code_digest", w.code_digest},
                 {"median_us", w.median_us},
                 {"default_median_us", optional_json(w.default_median_us)},
                 {"rounds", w.rounds},
                 {"effort", name(w.effort)},
                 {"library_version", w.library_version},
                 {"driver", row.device.driver},
                 {"decided_at", row.decided_at}});
  return object;
}

std::string trial_text(const plan::TrialRecord& trial) {
  const std::string result = trial.median_us ? fmt::format("{:9.2f} us +- {:.2f} ({} rounds)", *trial.median_us,
                                                           trial.spread_us.value_or(0), trial.rounds)
                                             : fmt::format("{:>12}", trial.status);
  return fmt::format("  {}{} {} {}{}\n", result, trial.is_default ? " default" : "", trial.family,
                     to_text(trial.config), trial.reason.empty() ? "" : ": " + trial.reason);
}

ordered_json trial_json(const cache::TrialRow& row) {
  ordered_json object = problem_json(row.problem, row.device);
  const plan::TrialRecord& t = row.trial;
  object.update({{"family", t.family},
                 {"config", t.config},
                 {"code_digest", t.code_digest},
                 {"is_default", t.is_default},
                 {"status", t.status},
                 {"reason", t.reason},
                 {"median_us", optional_json(t.median_us)},
                 {"spread_us", optional_json(t.spread_us)},
                 {"rounds", t.rounds},
                 {"registers", t.registers},
                 {"spill_bytes", t.spill_bytes},
                 {"shared_bytes", t.shared_bytes},
                 {"driver", row.device.driver},
                 {"measured_at", t.measured_at}});
  return object;
}

template <class Row, class Text, class Json>
void show_rows(const ShowOptions& options, std::vector<Row> rows, const Text& text_of, const Json& json_of) {
  std::erase_if(rows, [&](const Row& row) { return !is_shown(options, row.problem, row.device); });
  sort_rows(rows);
  ordered_json array = ordered_json::array();
  std::string text;
  std::string subject;
  for (const Row& row : rows) {
    const std::string this_subject = problem_text(row.problem, row.device);
    if (this_subject != subject) text += this_subject;
    subject = this_subject;
    text += text_of(row);
    if (options.json) array.push_back(json_of(row));
  }
  if (options.json) print_json(array);
  else print(rows.empty() ? "no row matches\n" : text);
}

/// Measured trials first, fastest first.
std::vector<cache::TrialRow> fastest_first(std::vector<cache::TrialRow> rows) {
  const auto order = [](const cache::TrialRow& row) {
    return std::tuple(!row.trial.median_us, row.trial.median_us.value_or(0), row.trial.status, row.trial.family,
                      row.trial.config);
  };
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  return rows;
}

void show_code(const ShowOptions& options, const std::filesystem::path& file) {
  cache::Connection connection(file, cache::Access::read_only, cache::tool_lock_timeout_ms);
  ordered_json array = ordered_json::array();
  std::string text;
  for (const std::string& key : cache::code_keys(connection)) {
    const auto row = cache::code_row(connection, key);
    if (!row) continue;
    const auto bytes = static_cast<std::int64_t>(row->image.binary.size());
    text +=
        fmt::format("{}  {} {} {}{}\n  {} ({})\n", key.substr(0, 16), row->entry.architecture, row->entry.family,
                    kibibytes(bytes), row->is_intact ? "" : ", damaged", row->entry.expression, row->entry.compiler);
    array.push_back({{"key", key},
                     {"family", row->entry.family},
                     {"expression", row->entry.expression},
                     {"architecture", row->entry.architecture},
                     {"compiler", row->entry.compiler},
                     {"bytes", bytes},
                     {"registers", row->image.registers},
                     {"spill_bytes", row->image.spill_bytes},
                     {"shared_bytes", row->image.static_shared_bytes},
                     {"intact", row->is_intact},
                     {"last_use", row->last_use}});
  }
  if (options.json) print_json(array);
  else print(text.empty() ? "it holds no kernel\n" : text);
}

int show(const ShowOptions& options) {
  const std::filesystem::path file = cache_file_or_own(options.file, cache::Content::tuning);
  if (cache::summarise(file).content == cache::Content::code) {
    show_code(options, file);
    return exit_success;
  }
  cache::TuningContent content = cache::read_content(file);
  if (options.trials)
    show_rows(
        options, fastest_first(std::move(content.trials)),
        [](const cache::TrialRow& row) { return trial_text(row.trial); }, trial_json);
  else show_rows(options, std::move(content.winners), winner_text, winner_json);
  return exit_success;
}

}  // namespace

void add_cache_ls(CLI::App& parent, int& status) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto json = std::make_shared<bool>(false);
  CLI::App& app = *parent.add_subcommand("ls", "The cache files, and how much each holds");
  app.footer(
      "Examples:\n"
      "  vostok cache ls                                         the user's files and those that came with the "
      "library\n"
      "  vostok cache ls fleet.db code.db --json                 these");
  app.add_option("files", *files, "Files (default: the user's and the shipped ones)")->type_name("FILE");
  app.add_flag("--json", *json, "Print one JSON array");
  app.callback([files, json, &status] { status = list_files(*files, *json); });
}

void add_cache_show(CLI::App& parent, int& status) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App& app = *parent.add_subcommand("show", "Every choice that a file holds, or every trial, or every kernel");
  app.footer(
      "Examples:\n"
      "  vostok cache show                                       the choices in the user's tuning.db\n"
      "  vostok cache show fleet.db --operation sddmm --trials   what was measured and rejected for SDDMM, fastest "
      "first\n"
      "  vostok cache show code.db --json                        the kernels");
  app.add_option("file", options->file, "File (default: the user's tuning.db)")->type_name("FILE");
  app.add_option("--operation", options->operation, "Only this operation: spmm, sddmm, ...")->type_name("NAME");
  app.add_option("--device", options->device, "Only devices with this in their name, or of this uuid")
      ->type_name("NAME");
  app.add_flag("--trials", options->trials, "Trials in place of choices");
  app.add_flag("--json", options->json, "Print one JSON array");
  app.callback([options, &status] { status = show(*options); });
}

}  // namespace vostok::cli
