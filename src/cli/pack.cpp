#include "cli/pack.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/each_in_turn.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "cache/cache.hpp"
#include "cache/location.hpp"
#include "cache/replace_file.hpp"
#include "cache/schema.hpp"
#include "cache/tuning_content.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"
#include "cli/interrupt.hpp"
#include "cli/json_text.hpp"
#include "cli/matrix_source.hpp"
#include "cli/number_option.hpp"
#include "cli/pack_candidates.hpp"
#include "cli/pack_choices.hpp"
#include "cli/pack_tally.hpp"
#include "cli/pack_tools.hpp"
#include "cli/problem_file.hpp"
#include "cli/tool_context.hpp"
#include "context_state.hpp"
#include "device/offline/boards.hpp"
#include "plan/decision.hpp"

namespace vostok::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* pack_examples =
    "Only NVRTC is needed here. A program that opens the file by CacheOptions::read_only then plans these problems "
    "without a compiler\n"
    "(CompilePolicy::never). Where no choice is stored, kernels are those of the heuristic's choice, which depends on "
    "the GPU: name it.\n"
    "Where a problem cannot be packed, and after Ctrl-C, --out is left as it was; with --partial it holds what was "
    "packed until\n"
    "then.\n"
    "In the file too are the kernels that take a topology from arrays in device memory, derive its forms and pack its "
    "values, and those of\n"
    "vostok/tools.hpp for matrices of a problem's shape and types: dense to CSR and back, transpose, sorted columns, "
    "linear indices, masks.\n"
    "\n"
    "Examples:\n"
    "  vostok pack --arch sm_80,sm_90 --problems problems.txt --out code.db     the usual GPUs of two architectures\n"
    "  vostok pack --like \"NVIDIA H200\" --problems problems.txt --out code.db   this GPU\n"
    "  vostok pack --like tuning.db --problems problems.txt --out code.db       every GPU that was tuned, and with "
    "what was tuned for it\n"
    "  vostok pack --like tuning.db --out code.db                               everything that was tuned, whatever "
    "problems it was\n"
    "  vostok pack --like \"NVIDIA H200\" --problems problems.txt --candidates 50 --out code.db\n"
    "                                                                           what will be tuned there, which then "
    "measures and hardly compiles\n"
    "  vostok pack --arch sm_80,sm_90 --helpers --problems cache/shipped/helpers.problems.txt --out code.db\n"
    "                                                                           what first plans share, whatever they "
    "choose: they compile one "
    "kernel";

/// The arguments of --like that are files of tuned choices; the others are GPUs.
std::vector<std::string> files_of(const PackOptions& options) {
  std::vector<std::string> files = options.like;
  std::erase_if(files, [](const std::string& like) { return !fs::exists(like); });
  return files;
}

/// The files of tuned choices of --like; texts are first converted to databases in the folder.
std::vector<fs::path> tuned_files(const PackOptions& options, const fs::path& folder) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& tuned) {
    if (fs::exists(tuned)) files.push_back(fs::absolute(tuned));
  };
  for (const std::string& like : files_of(options)) {
    files.push_back(folder / fmt::format("like{}.db", files.size()));
    cache::write_content(cache::read_content(like), files.back());
  }
  const std::string tuning = cache::file_name(cache::Content::tuning);
  const cache::Location user = options.cache.empty() ? cache::locate({}) : cache::Location{.folder = options.cache};
  if (user.folder) add(*user.folder / tuning);
  if (const auto shipped = cache::shipped_folder(PathProbe()); shipped && shipped->is_trusted())
    add(shipped->path / tuning);
  return files;
}

/// Caches with tuned choices but no code, so that every kernel a plan needs is compiled into the folder.
CacheOptions caches_in(const fs::path& folder, const std::vector<fs::path>& tuned) {
  return {.folder = folder / "packed",
          .read_only = tuned,
          .environment = false,
          .shipped = folder / "none",
          .max_code_bytes = std::int64_t{1} << 40};
}

/// The GPUs with rows in a tuning.db, or in its dump.
std::vector<std::string> devices_in(const fs::path& tuned) {
  std::vector<std::string> devices;
  const auto add = [&](const plan::DeviceKey& device) {
    if (device.architecture.starts_with("sm_")) devices.push_back(fields_of(device));
  };
  const cache::TuningContent content = cache::read_content(tuned);
  for (const auto& row : content.winners) add(row.device);
  for (const auto& row : content.trials) add(row.device);
  if (devices.empty()) fail(ErrorCode::invalid_argument, "cannot pack like {}: it has rows of no GPU", tuned.string());
  return devices;
}

std::string architecture_of(const std::string& target) { return device::offline::describe(target).info.architecture; }

/// Whether `holds` accepts the provenance of each of a plan's choices.
template <class Holds>
bool every_choice(const Explanation& explanation, const Holds& holds) {
  if (explanation.steps.empty()) return holds(explanation.provenance);
  return std::all_of(explanation.steps.begin(), explanation.steps.end(),
                     [&](const Explanation& step) { return every_choice(step, holds); });
}

/// Plans every line for one device, several in parallel.
class Packing {
 public:
  Packing(const PackOptions& options, Context context)
      : options_(options),
        context_(std::move(context)),
        lines_(read_problem_file(options.problems)),
        failures_(lines_.size()) {}

  PackedDevice run(ProgressLine& line, std::vector<std::string>& failures) {
    PackTally tally(context_, line, lines_.size());
    each_in_turn(lines_.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
      if (Interrupt::requested()) return;
      pack_line(lines_[i], tally, failures_[i]);
      tally.one_is_done();
    });
    for (std::string& failure : failures_)
      if (!failure.empty()) failures.push_back(std::move(failure));
    return tally.packed();
  }

 private:
  void pack_line(ProblemLine& line, PackTally& tally, std::string& failure) {
    try {
      Loaded loaded;
      if (line.job->masked()) loaded = load(line.options, *line.job, context_);
      if (options_.helpers) pack_helpers(line, loaded.topology, tally);
      else pack_plan(line, loaded.topology, tally);
      if (line.job->masked()) compile_tools(context_, loaded.matrix, loaded.topology, value_types(line.job->value()));
    } catch (const std::exception& error) {
      failure = fmt::format("{} for {} ({}): {}", place_of(options_.problems, line), context_.device().architecture,
                            context_.device().name, error.what());
    }
  }

  void pack_plan(ProblemLine& line, const Topology& topology, PackTally& tally) const {
    const AnyPlan plan = line.job->plan(context_, topology, line.options.plan);
    const Explanation explanation = plan.explain(Detail::choice);
    tally.count(every_choice(explanation, plan::is_tuned),
                every_choice(explanation, [](Provenance from) { return from != Provenance::heuristic; }));
    if (options_.candidates <= 0) return;
    for (const plan::SurveyedChoice& choice : line.job->survey(context_, topology, line.options.plan).choices)
      compile_candidates(*context_.state()->session, *choice.query, topology, options_.candidates);
  }

  void pack_helpers(const ProblemLine& line, const Topology& topology, PackTally& tally) const {
    tally.count(false, false);
    for (const plan::SurveyedChoice& choice : line.job->survey(context_, topology, line.options.plan).choices)
      compile_helpers(*context_.state()->session, *choice.query, topology);
  }

  const PackOptions& options_;
  Context context_;
  std::vector<ProblemLine> lines_;  ///< their jobs keep their plans
  std::vector<std::string> failures_;
};

PackedDevice pack_one(const PackOptions& options, const std::vector<std::string>& files, const Context& context,
                      ProgressLine& progress, std::vector<std::string>& failures) {
  if (!options.problems.empty()) return Packing(options, context).run(progress, failures);
  return pack_choices(context, choices_for(files, context.state()->session->device_key()), options.candidates, progress,
                      failures);
}

std::int64_t kernels_of(const PackReport& report) {
  std::int64_t kernels = 0;
  for (const PackedDevice& device : report.devices) kernels += device.kernels;
  return kernels;
}

/// Fails if something could not be written, and so is only in memory.
void require_complete(const fs::path& packed, const PackReport& report) {
  const std::int64_t kernels = kernels_of(report);
  constexpr int patience_ms = 1000;
  cache::Connection connection(packed, cache::Access::read_only, patience_ms);
  const std::int64_t stored = connection.number("SELECT count(*) FROM code");
  if (stored < kernels)
    fail(ErrorCode::io_failure, "cannot pack: {} kernels were compiled and {} stored in {}", kernels, stored,
         packed.string());
}

/// Packs for one device after the other. An error ends this; if there are kernels to keep, it becomes one of the
/// report's failures.
void pack_each(const PackOptions& options, const std::vector<std::string>& targets, const fs::path& folder,
               ProgressLine& progress, PackReport& report) {
  const std::vector<std::string> files = files_of(options);
  const std::vector<fs::path> tuned = tuned_files(options, folder);
  for (const std::string& target : targets) {
    if (Interrupt::requested()) return;
    try {
      Options context = context_options("compile:" + target, {}, progress);
      context.cache = caches_in(folder, tuned);
      context.nvrtc = options.nvrtc;
      report.devices.push_back(pack_one(options, files, Context(context), progress, report.failures));
    } catch (const std::exception& error) {
      if (!options.partial || kernels_of(report) == 0) throw;
      report.failures.push_back(fmt::format("{}: {}", target, error.what()));
      return;
    }
  }
}

/// Whether to write the file: everything was packed, or a partial result may be kept.
bool is_to_be_written(const PackOptions& options, const PackReport& report) {
  return report.is_whole() || (options.partial && kernels_of(report) > 0);
}

/// The outcome for the output file, with the reason.
std::string outcome_text(const PackOptions& options, const PackReport& report) {
  const std::string file = options.out.string();
  const std::string written =
      fmt::format("{}: {} kernels, {:.1f} KiB", file, kernels_of(report), static_cast<double>(report.bytes) / 1024);
  if (report.is_whole()) return written + "\n";
  const std::string why =
      report.interrupted ? "interrupted" : fmt::format("{} could not be packed", report.failures.size());
  if (report.is_written()) return fmt::format("{}; partial: {}\n", written, why);
  if (options.partial) return fmt::format("{}: left as it was: {}, and nothing was packed\n", file, why);
  return fmt::format("{}: left as it was: {} (--partial keeps what was packed: {} kernels)\n", file, why,
                     kernels_of(report));
}

int pack_status(const PackReport& report) {
  if (report.interrupted) return exit_interrupted;
  return report.failures.empty() ? exit_success : exit_bad_input;
}

int run_pack(const PackOptions& options, bool json) {
  const PackReport report = pack(options);
  print(json ? pack_json(options, report) : pack_text(options, report));
  flush_output();  // the failures come last on a terminal
  for (const std::string& failure : report.failures) tell(failure);
  return pack_status(report);
}

}  // namespace

std::vector<std::string> pack_targets(const PackOptions& options) {
  std::vector<std::string> targets;
  for (const std::string& like : options.like) {
    if (!fs::exists(like)) targets.push_back(like);
    else
      for (std::string& device : devices_in(like)) targets.push_back(std::move(device));
  }
  const auto wanted = [&](const std::string& target) {
    const auto& list = options.architectures;
    return list.empty() || std::find(list.begin(), list.end(), architecture_of(target)) != list.end();
  };
  std::erase_if(targets, [&](const std::string& target) { return !wanted(target); });
  for (const std::string& architecture : options.architectures)
    if (std::none_of(targets.begin(), targets.end(),
                     [&](const std::string& target) { return architecture_of(target) == architecture; }))
      targets.push_back(architecture);
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  if (targets.empty()) fail(ErrorCode::invalid_argument, "cannot pack: give --arch or --like");
  return targets;
}

PackReport pack(const PackOptions& options) {
  cache::require_replaceable(options.out);
  const std::vector<std::string> targets = pack_targets(options);
  if (options.problems.empty() && files_of(options).empty())
    fail(ErrorCode::invalid_argument,
         "cannot pack: give --problems, or by --like a file of tuned choices, which are then packed, all of them");
  if (options.problems.empty() && options.helpers)
    fail(ErrorCode::invalid_argument,
         "cannot pack helpers: give --problems, of which they are (cache/shipped/helpers.problems.txt has most)");
  const TemporaryFolder folder;
  const Interrupt interrupt;
  PackReport report;
  ProgressLine progress;
  pack_each(options, targets, folder.path(), progress, report);
  progress.clear();
  report.interrupted = Interrupt::requested();
  if (!is_to_be_written(options, report)) return report;
  const fs::path packed = folder.path() / "packed" / cache::file_name(cache::Content::code);
  require_complete(packed, report);
  cache::replace_file(
      options.out, [&](const fs::path& fresh) { fs::copy_file(packed, fresh, fs::copy_options::overwrite_existing); });
  report.bytes = static_cast<std::int64_t>(fs::file_size(options.out));
  return report;
}

std::string pack_text(const PackOptions& options, const PackReport& report) {
  std::string text = outcome_text(options, report);
  for (const PackedDevice& device : report.devices) {
    text += fmt::format("  {:<8} {}, {} multiprocessors: {} kernels for {} problems", device.architecture, device.name,
                        device.multiprocessors, device.kernels, device.problems);
    if (!options.helpers)
      text += fmt::format(", {} of them by tuned choices, {} by the nearest tuned ones", device.tuned, device.nearest);
    text += '\n';
  }
  return text;
}

std::string pack_json(const PackOptions& options, const PackReport& report) {
  using nlohmann::ordered_json;
  ordered_json object = {{"out", options.out.string()}, {"bytes", report.bytes}, {"devices", ordered_json::array()}};
  for (const PackedDevice& device : report.devices)
    object["devices"].push_back({{"architecture", device.architecture},
                                 {"name", device.name},
                                 {"multiprocessors", device.multiprocessors},
                                 {"kernels", device.kernels},
                                 {"problems", device.problems},
                                 {"tuned", device.tuned},
                                 {"nearest", device.nearest}});
  object["failures"] = report.failures;
  object["interrupted"] = report.interrupted;
  return json_text(object);
}

void add_pack(CLI::App& parent, int& status) {
  auto options = std::make_shared<PackOptions>();
  auto json = std::make_shared<bool>(false);
  CLI::App& app = *parent.add_subcommand(
      "pack", "Compile the kernels of problems for GPUs that need not be here, into one file to ship");
  app.footer(pack_examples);
  app.add_option("--arch", options->architectures,
                 "Architectures, e.g. sm_80,sm_90: the usual GPU of each; with --like, only its GPUs of these")
      ->type_name("NAMES")
      ->delimiter(',');
  app.add_option("--like", options->like,
                 "GPUs by their drivers' name, or files (tuning.db or its dump) that have rows of them")
      ->type_name("NAME");
  app.add_option(
         "--problems", options->problems,
         "File with a problem on each line: what follows `vostok run`. Without it, every choice of --like's files")
      ->type_name("FILE");
  add_number_option(app, "--candidates", options->candidates, Limits<int>{.least = 0},
                    "Also so many candidates of each problem: those that `vostok tune` tries first");
  app.add_flag("--helpers", options->helpers,
               "Of each problem only what is no family's own kernel: those that take topologies, make forms, pack "
               "values, prepare operands, and tools'")
      ->excludes("--candidates");
  app.add_option("--out", options->out,
                 "The file to make, e.g. code.db; one that is there is replaced once everything is packed")
      ->type_name("FILE")
      ->required();
  app.add_flag("--partial", options->partial, "Keep what was packed where a problem cannot be, or Ctrl-C ends it");
  app.add_option("--cache", options->cache, "Folder of the tuned choices instead of the default")->type_name("FOLDER");
  app.add_flag("--json", *json, "Print one JSON object instead of the report");
  app.callback([options, json, &status] { status = run_pack(*options, *json); });
}

}  // namespace vostok::cli
