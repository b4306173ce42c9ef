// `vostok tune-worker`: the process in which the tuner runs code that was never verified.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <optional>
#include <thread>

#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "context_state.hpp"
#include "plan/worker_client.hpp"
#include "plan/worker_options.hpp"
#include "plan/worker_server.hpp"

namespace vostok::cli {

namespace {

constexpr const char* tune_worker_footer =
    "The tuner starts this for itself: programs that plan with effort quick or full find the tool by "
    "Options::worker.tool, VOSTOK_TOOL or PATH.\n"
    "It speaks frames over its standard input and output, and ends when its input does.\n"
    "\n"
    "Examples:\n"
    "  VOSTOK_TOOL=/opt/vostok/bin/vostok ./program    that program's candidates are tried by this tool first";

tune::Frame refusal(std::string reason) {
  return {.fields = {{"status", "refused"}, {"reason", std::move(reason)}}, .bytes = {}};
}

/// Opens a context on the owner's device: by the given name, else the first device of the same uuid.
Context open_device(Options options, const std::string& uuid) {
  try {
    Context named(options);
    if (named.device().uuid == uuid) return named;
  } catch (const Error&) {
    if (options.device == "emulator") throw;
  }
  std::string ignored;
  const int count = device::count_cuda(&ignored);
  for (int i = 0; i < count; ++i) {
    options.device = fmt::format("cuda:{}", i);
    Context context(options);
    if (context.device().uuid == uuid) return context;
  }
  fail(ErrorCode::no_device, "cannot open device: none here has the uuid {}", uuid);
}

/// Ends this process when its owner closes the input, whatever a candidate is doing.
void end_with_owner(int input) {
  std::thread([input] {
    pollfd watched{.fd = input, .events = POLLRDHUP, .revents = 0};
    while (poll(&watched, 1, -1) <= 0 || (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) continue;
    _exit(exit_cannot_run);
  }).detach();
}

std::optional<Context> open_context(const tune::Frame& asked, std::string& why) {
  if (asked.text("verb") != "open" || asked.text("protocol") != plan::worker_protocol ||
      asked.text("version") != library_version) {
    why = fmt::format("the tool is vostok {}, and the program is linked to {}", library_version, asked.text("version"));
    return std::nullopt;
  }
  try {
    return open_device(plan::options_from(asked.fields), asked.text("uuid"));
  } catch (const std::exception& error) {
    why = error.what();
    return std::nullopt;
  }
}

int run_worker() {
  if (isatty(STDIN_FILENO) != 0)
    fail(ErrorCode::invalid_argument, "cannot work: this is for the tuner, which starts it for itself; see --help");
  // Only frames go to the owner: anything else printed goes to stderr.
  const int output = dup(STDOUT_FILENO);
  if (output < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    fail(ErrorCode::io_failure, "cannot work: no standard output");
  // At the file size limit a write then fails instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  tune::FrameStream stream(STDIN_FILENO, output);
  tune::EndlessPatience patience;
  tune::Frame asked;
  stream.send({.fields = {{"status", plan::worker_started}}, .bytes = {}});
  if (stream.receive(asked, patience) != tune::FrameStream::State::done) return exit_bad_input;
  end_with_owner(STDIN_FILENO);
  std::string why;
  const std::optional<Context> context = open_context(asked, why);
  stream.send(context ? tune::Frame{.fields = {{"status", "ready"}}, .bytes = {}} : refusal(why));
  if (!context) return exit_cannot_run;
  plan::WorkerServer(context->state()->planner, stream).serve();
  std::fflush(nullptr);
  _exit(exit_success);  // a device that has failed may hang while it frees its memory
}

}  // namespace

void add_tune_worker(CLI::App& parent, int& status) {
  CLI::App& app = *parent.add_subcommand(
      "tune-worker", "Where the tuner runs code that was never verified (it starts this for itself)");
  app.footer(tune_worker_footer);
  app.callback([&status] { status = run_worker(); });
}

}  // namespace vostok::cli
