// `vostok capture`: runs a program and writes its plans' problems to a problem file.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/text.hpp"
#include "cli/commands.hpp"

namespace vostok::cli {

namespace {

constexpr const char* capture_examples =
    "Runs a program with VOSTOK_CAPTURE set: every problem that it plans is appended to the file, once, and each "
    "mask's structure is saved in\n"
    "FILE.matrices beside it. The exit status is the program's.\n"
    "\n"
    "Examples:\n"
    "  vostok capture -- python3 serve.py                            problems.txt: what the server plans\n"
    "  vostok capture --out training.txt -- ./train --epochs 1       another file\n"
    "  vostok tune --problems training.txt                           and then tune what was captured";

struct CaptureOptions {
  std::string out = "problems.txt";
  std::vector<std::string> command;
};

/// Fails early: the program's own library would only warn afterwards of a file that cannot be written.
void require_writable(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    fail(ErrorCode::io_failure, "cannot capture to {}: it is a folder", file.string());
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const bool is_there = std::filesystem::exists(file, ignored);
  if (::access((is_there ? file : folder).c_str(), W_OK) != 0)
    fail(ErrorCode::io_failure, "cannot capture to {}: {}", file.string(), std::strerror(errno));
}

[[noreturn]] void run_command(const CaptureOptions& options) {
  require_writable(options.out);
  ::setenv("VOSTOK_CAPTURE", std::filesystem::absolute(options.out).c_str(), 1);
  std::vector<std::string> words = options.command;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  fail(ErrorCode::io_failure, "cannot run {}: {}", options.command.front(), std::strerror(errno));
}

}  // namespace

void add_capture(CLI::App& parent) {
  auto options = std::make_shared<CaptureOptions>();
  CLI::App& app =
      *parent.add_subcommand("capture", "Run a program and write the problems that it plans to a problem file");
  app.footer(capture_examples);
  app.add_option("--out", options->out, "Problem file that is appended to")->type_name("FILE")->capture_default_str();
  app.add_option("command", options->command, "The program and its arguments, after --")
      ->type_name("COMMAND")
      ->required();
  app.callback([options] { run_command(*options); });
}

}  // namespace vostok::cli
