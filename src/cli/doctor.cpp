#include "cli/commands.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/diagnosis.hpp"
#include "cli/exit_status.hpp"

namespace vostok::cli {

namespace {
constexpr const char* examples =
    "A * marks what is used. Exit status: 0 if something can run here, 3 if nothing can.\n"
    "\n"
    "Examples:\n"
    "  vostok doctor                                      every place looked at, the caches, the environment, a verdict\n"
    "  vostok doctor --json                               the same for programs\n"
    "  VOSTOK_NVRTC=/opt/nvrtc/lib vostok doctor          whether another NVRTC would be found";
}

void add_doctor(CLI::App& parent, int& status) {
  auto json = std::make_shared<bool>(false);
  CLI::App& app = *parent.add_subcommand("doctor", "What was found on this machine, and what can run");
  app.footer(examples);
  app.add_flag("--json", *json, "Print one JSON object");
  app.callback([json, &status] {
    const Diagnosis diagnosis = diagnose();
    std::fputs((*json ? diagnosis_json(diagnosis) : diagnosis_text(diagnosis)).c_str(), stdout);
    status = diagnosis.runs() ? exit_success : exit_cannot_run;
  });
}

}  // namespace vostok::cli
