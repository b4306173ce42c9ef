#include "bench/harness/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <utility>

#include "base/text.hpp"
#include "cli/enum_option.hpp"

namespace vostok::bench {

void add_options(CLI::App& app, RunOptions& options) {
  app.add_option("--device", options.device, "auto, cuda:I or emulator")->capture_default_str();
  app.add_option("--cache", options.cache, "Cache folder of tuned choices and kernels (default: the library's)");
  app.add_option("--out", options.out, "JSON file to write, after every problem anew");
  app.add_option("--commit", options.commit, "Commit to name in the result (default: the one this was built from)");
}

void add_options(CLI::App& app, CompileOptions& options) {
  app.add_option("--families", options.families, "Only these, separated by commas")->delimiter(',');
  app.add_option("--threads", options.threads, "Compilers at once (default: one per core)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--deadline", options.deadline_seconds, "Begin no kernel after that many seconds; 0: none")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--out", options.out, "JSON file to go on from and to write");
  app.add_option("--commit", options.commit, "Commit to name in the result (default: the one this was built from)");
}

void add_options(CLI::App& app, ListOptions& options) {
  add_options(app, static_cast<RunOptions&>(options));
  app.add_option("--data", options.data, "Folder of the matrices")->capture_default_str();
  app.add_option("--problems", options.problems,
                 "Problem list: lines of FILE N... (default: problems.txt in the data folder)");
  app.add_option("--filter", options.selection.filter, "Only problems whose 'FILE n=N' holds this text");
  app.add_option("--skip", options.selection.skip, "Leave out that many of them, from the first")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--max-problems", options.selection.most, "At most that many; 0: all")->check(CLI::NonNegativeNumber);
  app.add_option("--shrink", options.selection.shrink,
                 "Divide rows and columns of made matrices, and n, by that: to try a set on a small machine")
      ->check(CLI::PositiveNumber);
  cli::add_enum_option(app, "--effort", options.effort, "How hard to plan: heuristic, cached, quick or full");
  app.add_option("--budget", options.budget_seconds, "Seconds of tuning for a problem")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--deadline", options.deadline_seconds, "Start no problem after that many seconds; 0: none")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--apart", options.apart, "Let no call start while the one before it ends, as it may by default");
  app.add_option("--rounds", options.rounds, "Samples of each contender")
      ->capture_default_str()
      ->check(CLI::Range(7, 1000));
  app.add_option("--seed", options.seed, "Seed of operands and order")->capture_default_str();
}

void add_options(CLI::App& app, ComparisonOptions& options) {
  add_options(app, static_cast<ListOptions&>(options));
  cli::add_enum_option(app, "--dtype", options.element, "Element type of every operand: f32, f16 or bf16");
  CLI::Option* baselines = app.add_option("--baselines", options.baselines,
                                          "CSV of times reached elsewhere, e.g. one of ../shared/baselines");
  app.add_flag("--synthetic", options.synthetic, "Take the generated problems of --baselines instead of a list")
      ->needs(baselines);
  CLI::Option* none = app.add_flag("--no-peers", options.no_peers, "Leave the peers that run beside ours out");
  app.add_option("--peers", options.peers, "Only these: cusparse, cublas")->delimiter(',')->excludes(none);
}

std::vector<Problem> read_problems(const ListOptions& options) {
  return read_problems(options.problems.empty() ? options.data / "problems.txt" : options.problems, options.selection);
}

Context open_context(const RunOptions& options, std::shared_ptr<Allocator> allocator) {
  Options context{
      .device = options.device, .allocator = std::move(allocator), .worker = {.first_run = FirstRun::this_process}};
  if (!options.cache.empty()) context.cache.folder = options.cache;
  return Context(context);
}

void print_device(const DeviceInfo& device) {
  const std::string kind = device.gpu ? fmt::format("{}, CUDA {}", device.architecture, device.driver)
                                      : "times here are for trying things out, not for speed";
  std::fputs(fmt::format("{} ({})\n", device.name, kind).c_str(), stdout);
}

namespace {

/// The program's name without its folder, and its arguments.
std::string command_line(int argc, char** argv) {
  std::string command = std::filesystem::path(argv[0]).filename().string();
  for (int i = 1; i < argc; ++i) command += fmt::format(" {}", argv[i]);
  return command;
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, RunOptions& options, const std::function<int()>& body) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  options.command = command_line(argc, argv);
  try {
    return body();
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}: {}\n", app.get_name(), error.what()).c_str(), stderr);
    return 1;
  }
}

}  // namespace vostok::bench
