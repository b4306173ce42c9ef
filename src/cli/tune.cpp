#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/enum_option.hpp"
#include "cli/number_option.hpp"
#include "cli/tuning.hpp"

namespace vostok::cli {

namespace {

constexpr const char* tune_examples =
    "A problem file has a line for each problem: what follows `vostok run`, e.g. `spmm --matrix layer.smtx --n 256 "
    "--dtype f16`; a path is\n"
    "relative to the file, and lines that begin with # are skipped. What is measured is kept at once: Ctrl-C loses "
    "nothing, and the same command\n"
    "goes on where it ended, measuring only what is new. Exit status: 0 every problem is tuned, now or before; 2 bad "
    "usage or input;\n"
    "3 a problem failed, or nothing of it could be measured; 130 interrupted.\n"
    "\n"
    "Examples:\n"
    "  vostok tune --problems layers.txt                             everything that the rules admit, overnight\n"
    "  vostok tune --problems layers.txt --effort quick              a short list of each\n"
    "  vostok tune --problems layers.txt --time-limit 3600           an hour, shared by all problems\n"
    "  vostok tune --problems layers.txt --policy cold --json        with operands that are not in the cache; one JSON "
    "object";

int run_tune(const TuneOptions& options) {
  if (options.effort < Effort::quick)
    fail(ErrorCode::invalid_argument, "cannot tune: effort {} measures nothing; give quick or full",
         name(options.effort));
  const std::vector<ProblemLine> lines = read_problem_file(options.problems);
  if (lines.empty()) fail(ErrorCode::invalid_argument, "cannot tune: {} holds no problem", options.problems);
  const TuneReport report = tune_problems(options, lines);
  print(options.json ? tune_json(report) : tune_text(report));
  return tune_status(report);
}

}  // namespace

void add_tune(CLI::App& parent, int& status, const std::filesystem::path& tool) {
  auto options = std::make_shared<TuneOptions>(TuneOptions{.tool = tool});
  CLI::App& app = *parent.add_subcommand(
      "tune", "Measure candidates for every problem of a file, and keep the choices for later plans");
  app.footer(tune_examples);
  app.add_option("--problems", options->problems, "File with a problem on each line")->type_name("FILE")->required();
  add_enum_option(app, "--effort", options->effort, "full: everything that the rules admit; quick: a short list");
  add_number_option(app, "--time-limit", options->time_limit_seconds,
                    Limits<double>{.least = 0.001, .most = second_limits().most, .unit = "seconds"},
                    "For all problems together; without it each is tuned to the end")
      ->type_name("SECONDS");
  add_enum_option(app, "--policy", options->policy,
                  "warm: operands may be in the last-level cache; cold: they are not");
  app.add_option("--device", options->device, "auto (a GPU if there is one), cuda:I or emulator")
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option("--cache", options->cache, "Folder of the tuning and code caches instead of the default")
      ->type_name("FOLDER");
  app.add_flag("--json", options->json, "Print one JSON object instead of the report");
  app.callback([options, &status] { status = run_tune(*options); });
}

}  // namespace vostok::cli
