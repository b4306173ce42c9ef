#include "cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/console.hpp"
#include "cli/diagnosis.hpp"
#include "cli/exit_status.hpp"
#include "cli/problem_check.hpp"

namespace vostok::cli {

namespace {
constexpr const char* doctor_examples =
    "A * marks what is used. Exit status: 0 if something can run here, 3 if nothing can; with --problems, 0 if every "
    "problem of the file can be\n"
    "planned, and new values packed, without a compiler, 3 if not.\n"
    "\n"
    "Examples:\n"
    "  vostok doctor                                      every place looked at, the caches, the environment, a "
    "verdict\n"
    "  vostok doctor --problems layers.txt                which of these would compile, and which were tuned\n"
    "  vostok doctor --json                               the same for programs\n"
    "  VOSTOK_NVRTC=/opt/nvrtc/lib vostok doctor          whether another NVRTC would be found";

struct DoctorOptions {
  bool json = false;
  std::string problems;
  std::string device = "auto";
  std::string cache;
};

int look_at_machine(bool json) {
  const Diagnosis diagnosis = diagnose();
  print(json ? diagnosis_json(diagnosis) : diagnosis_text(diagnosis));
  return diagnosis.runs() ? exit_success : exit_cannot_run;
}

int look_at_problems(const DoctorOptions& options) {
  const std::vector<ProblemLine> lines = read_problem_file(options.problems);
  const ProblemCheck check = check_problems(lines, options.device, options.cache);
  print(options.json ? check_json(check) : check_text(check));
  return check.complete() ? exit_success : exit_cannot_run;
}

}  // namespace

void add_doctor(CLI::App& parent, int& status) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App& app = *parent.add_subcommand("doctor", "What was found on this machine, and what can run");
  app.footer(doctor_examples);
  app.add_flag("--json", options->json, "Print one JSON object");
  CLI::Option* problems =
      app.add_option(
             "--problems", options->problems,
             "Instead: where the choice and the kernels of each problem of a file come from, and what is missing")
          ->type_name("FILE");
  app.add_option("--device", options->device,
                 "With --problems: auto, cuda:I, emulator, or compile:NAME (a GPU that is not here)")
      ->type_name("DEVICE")
      ->needs(problems);
  app.add_option("--cache", options->cache, "With --problems: folder of the caches instead of the default")
      ->type_name("FOLDER")
      ->needs(problems);
  app.callback([options, &status] {
    status = options->problems.empty() ? look_at_machine(options->json) : look_at_problems(*options);
  });
}

}  // namespace vostok::cli
