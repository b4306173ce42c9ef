// Code that hangs, faults, corrupts or is wrong meets the worker process first: planted into the cache in place of good
// kernels.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"
#include "base/version.hpp"
#include "codegen/source.hpp"
#include "context_state.hpp"
#include "device/gpus.hpp"
#include "ops/conv/problem.hpp"
#include "plan/candidates.hpp"
#include "plan/features.hpp"
#include "plan/worker_client.hpp"
#include "plan/worker_options.hpp"
#include "sparse/text_file.hpp"
#include "tune/worker_process.hpp"
#include "unit/cli/tool_process.hpp"

using namespace vostok;
using cli::testing::contains;

namespace {

/// A text of the kernel's template, and what takes its place.
struct Bug {
  const char* name;
  const char* text;
  std::string planted;
};

constexpr const char* start = "  const auto elements = static_cast<unsigned long long>(args.elements);\n";
constexpr const char* add_bias = "+ bias.value()";

/// On the emulator the loop costs no processor time. A GPU's memory is mapped in large pages: a store must go far to
/// miss them.
std::vector<Bug> bugs_of(bool gpu) {
  const std::string unchanged = start;
  const std::string output = unchanged + "  static_cast<volatile char*>(args.output)[args.elements * 4 + ";
  return {
      {"an infinite loop", start,
       unchanged + (gpu ? "  for (;;) __nanosleep(1000);\n" : "  for (;;) ::sleep(1000);\n")},
      {"a store out of bounds", start, output + (gpu ? "(1ll << 44)] = 1;\n" : "4500] = 1;\n")},
      {"a store into what lies behind the output", start, output + "64] = 1;\n"},
      {"a wrong result", add_bias, "+ 2 * bias.value() + 1"},
  };
}

BiasActivation problem_of(std::int64_t rows) { return {.rows = rows, .columns = 48, .bias = Bias::per_column}; }

/// After which a candidate counts as hanging: good ones take ThreadSanitizer longer than eight seconds beside other
/// work.
#ifdef VOSTOK_THREAD_SANITIZER
constexpr double seconds_to_hang = 120;
#else
constexpr double seconds_to_hang = 8;
#endif

struct Planting {
  std::string device = "emulator";
  TemporaryFolder folder = {};

  bool on_gpu() const { return device != "emulator"; }

  Context context(const std::string& tool) const {
    return Context({.device = device,
                    .cache = {.folder = folder / "cache", .shipped = folder / "none"},
                    .log = [](LogLevel, std::string_view) {},
                    .worker = {.tool = tool, .timeout_seconds = seconds_to_hang}});
  }

  /// Under the key of a candidate's kernel: what the candidate's template with the bug compiles to.
  void plant(const Context& opened, const tune::Candidate& candidate, const Bug& bug) const {
    const plan::Session& session = *opened.state()->session;
    const auto query = ops::make_query(problem_of(8), {}, {0, 0}, &session.device());
    const ops::Family& family = *ops::find_family("bias_activation", candidate.family);
    const codegen::KernelRequest request = family.launches(*query, candidate.config, {}).front().request();
    device::Source source = codegen::make_source(request, session.device().architecture());
    const auto header = std::find_if(source.headers.begin(), source.headers.end(),
                                     [&](const auto& h) { return h.name == request.header; });
    REQUIRE(header != source.headers.end());
    std::string text(header->text);
    const std::size_t at = text.find(bug.text);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(bug.text).size(), bug.planted);
    if (!on_gpu())
      text =
          "extern \"C\" { unsigned sleep(unsigned); int kill(int, int) noexcept; int getpid() noexcept; int "
          "mkdir(const char*, unsigned) noexcept; "
          "}\n" +
          text;
    header->text = text;
    const device::CodeTarget target = session.device().code_target();
    const std::string key = codegen::code_key(request, target.architecture, target.options, target.compiler);
    session.code().put(
        {.key = key, .family = request.family, .expression = request.expression, .architecture = target.architecture},
        session.device().compiler().compile(source));
  }

  static std::vector<tune::Candidate> candidates(const Context& opened) {
    const plan::Session& session = *opened.state()->session;
    return plan::short_list(*ops::make_query(problem_of(8), {}, {0, 0}, &session.device()),
                            session.max_workspace_bytes());
  }
};

/// Trials of a problem by config.
std::map<std::string, plan::TrialRecord> trials_of(const Context& context, const BiasActivation& problem) {
  const plan::Session& session = *context.state()->session;
  std::map<std::string, plan::TrialRecord> trials;
  for (const plan::TrialRecord& trial : session.tuning().trials(
           plan::problem_key(*ops::make_query(problem, {}, {0, 0}, &session.device())), session.device_key()))
    trials[to_text(trial.config)] = trial;
  return trials;
}

int count_of(const std::map<std::string, plan::TrialRecord>& trials, const std::string& status) {
  int count = 0;
  for (const auto& [config, trial] : trials) count += trial.status == status;
  return count;
}

const PlanOptions quick{.effort = Effort::quick, .budget_seconds = 600};

/// The role of a user's program: it plans, with no tool named, and writes down that it started and what it was told.
int plan_as_program(const std::filesystem::path& folder) {
  std::ofstream(folder / "started", std::ios::app) << 'x';
  // What it takes for its worker plans as it does before it ends, which on a busy machine takes a while.
  const Context context({.device = "emulator",
                         .cache = {.folder = folder / "cache", .shipped = folder / "none"},
                         .log = [](LogLevel, std::string_view) {},
                         .worker = {.timeout_seconds = 300}});
  std::ofstream(folder / "explained", std::ios::trunc)
      << context.plan(problem_of(8), quick).explain(Detail::trials).text();
  return 0;
}

/// Becomes such a program before doctest starts, where the environment says so.
const bool is_test_process = [] {
  const char* folder = std::getenv("VOSTOK_TEST_PROGRAM");
  if (folder == nullptr) return true;
  std::_Exit(plan_as_program(folder));
}();

/// Runs such a program with its own folder first in PATH; how often it was started in all.
std::uintmax_t starts_of(const TemporaryFolder& folder, const std::filesystem::path& program) {
  const std::string command = fmt::format("env -u VOSTOK_TOOL PATH='{}':\"$PATH\" VOSTOK_TEST_PROGRAM='{}' '{}'",
                                          program.parent_path().string(), folder.path().string(), program.string());
  REQUIRE(std::system(command.c_str()) == 0);
  return std::filesystem::file_size(folder / "started");
}

}  // namespace

TEST_CASE("planted bugs end the worker, not the program. They are recorded, and their code is never tried again") {
  std::vector<std::string> devices = test::gpu_names();
  if (test::tests_emulator()) devices.emplace_back("emulator");
  for (const std::string& device : devices) {
    CAPTURE(device);
    const Planting planting{device};
    const std::vector<Bug> bugs = bugs_of(planting.on_gpu());
    std::vector<tune::Candidate> list;
    {
      const Context planted = planting.context(VOSTOK_TOOL);
      list = Planting::candidates(planted);
      REQUIRE(list.front().is_default);
      REQUIRE(list.size() > bugs.size() + 1);
      for (std::size_t i = 0; i < bugs.size(); ++i) planting.plant(planted, list[i + 1], bugs[i]);
    }
    {
      const Context context = planting.context(VOSTOK_TOOL);
      const auto plan = context.plan(problem_of(8), quick);
      CHECK(plan.provenance() == Provenance::tuned_here);
      const auto trials = trials_of(context, problem_of(8));
      const std::vector<std::string> expected = {"hung", "faulted", "wrong", "wrong"};
      for (std::size_t i = 0; i < bugs.size(); ++i) {
        CAPTURE(std::string(bugs[i].name));
        const plan::TrialRecord& trial = trials.at(to_text(list[i + 1].config.to_map()));
        CAPTURE(trial.reason);
        CHECK(trial.status == expected[i]);
        CHECK_FALSE(trial.reason.empty());
        CHECK_FALSE(trial.median_us.has_value());
        CHECK(plan.config() != list[i + 1].config.to_map());
      }
      if (!planting.on_gpu()) CHECK(contains(trials.at(to_text(list[2].config.to_map())).reason, "its process ended"));
      CHECK(contains(trials.at(to_text(list[3].config.to_map())).reason, "outside the output"));
      CHECK(count_of(trials, "measured") == std::ssize(list) - std::ssize(bugs));
      for (const auto& [config, trial] : trials)
        if (trial.status == "measured") CHECK(trial.reason.empty());
    }
    // Another problem of the same kernels, and no worker: what passed is measured here, what failed is not touched.
    const Context alone = planting.context("/nowhere/vostok");
    const auto plan = alone.plan(problem_of(24), quick);
    CHECK(plan.provenance() == Provenance::tuned_here);
    const auto trials = trials_of(alone, problem_of(24));
    CHECK(count_of(trials, "banned") == std::ssize(bugs));
    CHECK(count_of(trials, "measured") == std::ssize(list) - std::ssize(bugs));
    CHECK(contains(plan.explain(Detail::trials).text(), "hung before"));
  }
}

TEST_CASE(
    "code whose worker others kill is measured by another or left untested, never banned, and code that faults is") {
  if (!test::tests_emulator()) {
    MESSAGE("skipped: without the emulator no kernel can end its process by a signal");
    return;
  }
  const Planting planting;
  const std::string once = fmt::format("  if (::mkdir(\"{}\", 448) == 0) ::kill(::getpid(), {});\n",
                                       (planting.folder / "killed").string(), SIGKILL);
  const std::string unchanged = start;
  const std::vector<Bug> bugs = {
      {"killed once", start, unchanged + once},
      {"terminated each time", start, unchanged + fmt::format("  ::kill(::getpid(), {});\n", SIGTERM)},
      {"a fault", start, unchanged + fmt::format("  ::kill(::getpid(), {});\n", SIGSEGV)}};
  std::vector<tune::Candidate> list;
  {
    const Context planted = planting.context(VOSTOK_TOOL);
    list = Planting::candidates(planted);
    REQUIRE(list.size() > bugs.size() + 1);
    for (std::size_t i = 0; i < bugs.size(); ++i) planting.plant(planted, list[i + 1], bugs[i]);
  }
  {
    const Context context = planting.context(VOSTOK_TOOL);
    const auto plan = context.plan(problem_of(8), quick);
    CHECK(plan.provenance() == Provenance::tuned_here);
    const auto trials = trials_of(context, problem_of(8));
    const std::vector<std::string> expected = {"measured", "untested", "faulted"};
    for (std::size_t i = 0; i < bugs.size(); ++i) {
      CAPTURE(std::string(bugs[i].name));
      const plan::TrialRecord& trial = trials.at(to_text(list[i + 1].config.to_map()));
      CAPTURE(trial.reason);
      CHECK(trial.status == expected[i]);
    }
    CHECK(contains(trials.at(to_text(list[2].config.to_map())).reason, fmt::format("signal {}", SIGTERM)));
    CHECK(count_of(trials, "measured") == std::ssize(list) - 2);
  }
  const Context later = planting.context(VOSTOK_TOOL);
  later.plan(problem_of(24), quick);
  const auto trials = trials_of(later, problem_of(24));
  CHECK(trials.at(to_text(list[1].config.to_map())).status == "measured");
  CHECK(trials.at(to_text(list[2].config.to_map())).status == "untested");
  CHECK(trials.at(to_text(list[3].config.to_map())).status == "banned");
}

TEST_CASE(
    "a user's program that is called vostok does not start itself, nor is it started without end where a script of "
    "that name starts it") {
  REQUIRE(is_test_process);
  if (!test::tests_emulator()) {
    MESSAGE("skipped: the program plans on the emulator");
    return;
  }
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "bin");
    const auto program = folder / "bin" / "vostok";
    std::filesystem::copy_file(self, program);
    CHECK(starts_of(folder, program) == 1);
    CHECK(contains(sparse::read_bytes(folder / "explained"), "there is no vostok in PATH"));
  }
  const TemporaryFolder folder;
  const auto program = folder.write("bin/vostok", fmt::format("#!/bin/sh\nexec '{}'\n", self.string()));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  // Taken for the tool, tried and tried again: these two start nothing.
  CHECK(starts_of(folder, program) == 3);
  CHECK(contains(sparse::read_bytes(folder / "explained"), "there is no worker: its process ended: exit status 0"));
}

TEST_CASE("without a worker code that never passed is not run: the heuristic serves, and explain says why") {
  const Planting planting;
  const Context context = planting.context("/nowhere/vostok");
  const auto plan = context.plan(problem_of(8), quick);
  CHECK(plan.provenance() == Provenance::heuristic);
  const std::string text = plan.explain(Detail::trials).text();
  CHECK(contains(text, "/nowhere/vostok"));
  CHECK(contains(text, "untested"));
}

TEST_CASE("a tool that is no worker is none") {
  const Planting planting;
  const Context context = planting.context("/bin/false");
  const auto plan = context.plan(problem_of(8), quick);
  CHECK(plan.provenance() == Provenance::heuristic);
  CHECK(contains(plan.explain(Detail::trials).text(), "exit status 1"));
}

TEST_CASE("a worker whose log may grow no further works all the same") {
  if (!test::tests_emulator()) {
    MESSAGE("skipped: the worker opens the emulator");
    return;
  }
  const TemporaryFolder folder;
  Options options{.device = "emulator", .cache = {.folder = folder / "cache", .shipped = folder / "none"}};
  for (int i = 0; i < 100; ++i)
    options.cache.read_only.emplace_back(fmt::format("/absent/{:0100}", i));  // a warning each
  tune::Frame open{.fields = plan::to_fields(options, {}), .bytes = {}};
  open.fields["verb"] = "open";
  open.fields["protocol"] = plan::worker_protocol;
  open.fields["version"] = library_version;
  open.fields["uuid"] = Context({.device = "emulator", .cache = {.enabled = false}}).device().uuid;

  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::string why;
  const auto worker = tune::WorkerProcess::start(VOSTOK_TOOL, why);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE_MESSAGE(worker, why);
  tune::EndlessPatience patience;
  tune::Frame answer;
  REQUIRE(worker->stream().receive(answer, patience) == tune::FrameStream::State::done);
  CHECK(answer.text("status") == plan::worker_started);
  REQUIRE(worker->stream().send(open) == tune::FrameStream::State::done);
  REQUIRE(worker->stream().receive(answer, patience) == tune::FrameStream::State::done);
  CHECK_MESSAGE(answer.text("status") == "ready", answer.text("reason"));
}

TEST_CASE("the worker's command says what it is for, and refuses a terminal's or another's words") {
  const cli::testing::Tool tool;
  const auto help = tool.run({"tune-worker", "--help"});
  CHECK(help.status == 0);
  CHECK(contains(help.output, "VOSTOK_TOOL"));
}
