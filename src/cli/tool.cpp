#include "cli/tool.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>

#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/exit_status.hpp"
#include "cli/usage_error.hpp"

namespace vostok::cli {

namespace {

constexpr const char* description = "Plans, generates, tunes and runs sparse kernels for deep learning.";
constexpr const char* tool_footer =
    "Examples:\n"
    "  vostok run spmm --random 2048x512x0.9 --n 256   multiply a random matrix and check the result\n"
    "  vostok run --help                               the other operations: sddmm, softmax, attention, depthwise, "
    "...\n"
    "  vostok run spmm --help                          every option of that command, with examples\n"
    "  vostok doctor                                   what was found on this machine, and what can run\n"
    "  vostok cache --help                             what was tuned and compiled: list, merge, check, sign\n"
    "\n"
    "Exit status: 0 done (run: and verified), 1 wrong result, 2 bad usage or input, 3 this machine cannot run it.";

ExitStatus complain(const std::string& sentence, ExitStatus status) {
  tell(sentence);
  return status;
}

/// "vostok run spmm": the command whose --help is relevant.
std::string command_line_of(const CLI::App& app) {
  const CLI::App* current = &command_in_use(app);
  std::string line = current->get_name();
  while ((current = current->get_parent()) != nullptr) line = current->get_name() + " " + line;
  return line;
}

/// The path of this program, which is the tool. Empty if the system does not tell it.
std::filesystem::path own_file() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

/// Prints the output of --help and --version.
ExitStatus print_asked(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream text;
  app.exit(error, text);
  print(text.str());
  return exit_success;
}

int parse_and_run(int argc, const char* const* argv) {
  CLI::App app(description, "vostok");
  app.footer(tool_footer);
  app.set_version_flag("--version", fmt::format("vostok {}", library_version), "Print the version and exit");
  app.require_subcommand(1);
  int status = exit_success;
  const std::filesystem::path tool = own_file();
  add_run(app, status, tool);
  add_tune(app, status, tool);
  add_capture(app);
  add_doctor(app, status);
  add_study(app, status);
  add_pack(app, status);
  add_cache(app, status);
  add_tune_worker(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return print_asked(app, error);
    return complain(fmt::format("{}\nTry: {} --help", usage_text(app, error), command_line_of(app)), exit_bad_input);
  }
  return status;
}

/// Runs the command line and returns its exit status.
int status_of(int argc, const char* const* argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const Error& error) {
    return complain(error.what(), exit_status_of(error.code()));
  } catch (const std::bad_alloc&) {
    return complain("out of host memory", exit_cannot_run);
  } catch (const std::exception& error) {
    return complain(error.what(), exit_cannot_run);
  }
}

}  // namespace

int run_tool(int argc, const char* const* argv) {
  hold_standard_streams();
  const int status = status_of(argc, argv);
  const std::string failure = output_failure();
  if (failure.empty()) return status;
  const ExitStatus lost = complain(fmt::format("cannot write to standard output: {}", failure), exit_bad_input);
  return status == exit_success ? lost : status;
}

}  // namespace vostok::cli
