// What becomes of candidates whose worker ends, is ended or stopped by others, or says what makes no sense. The worker
// is this test executable, started by a script that names its role.
#include "plan/worker_client.hpp"
#include "abi/bias_activation.h"

#include <signal.h>  // NOLINT: kill
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/temporary_folder.hpp"
#include "ops/conv/problem.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;

namespace {

namespace fs = std::filesystem;

const std::string digest = "code";

/// How often a worker was started, or a candidate asked for: a byte in a file for each.
int counted(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) ? static_cast<int>(fs::file_size(file)) : 0;
}

int count_one(const fs::path& file) {
  std::ofstream(file, std::ios::app) << 'x';
  return counted(file);
}

tune::Frame answer_of(const std::string& status) {
  return {.fields = {{"status", status},
                     {"code_digest", digest},
                     {"median_us", "2.5"},
                     {"spread_us", "0.125"},
                     {"rounds", "3"},
                     {"reason", "as told"}},
          .bytes = {}};
}

/// Of a role "KIND:WHEN:SIGNAL". `when`: "once", the first time that a candidate (or, of kind "start", a problem)
/// comes; "always".
struct Role {
  std::string kind;
  bool always = false;
  int signal = 0;
};

Role role_of(const std::string& text) {
  const std::size_t first = text.find(':'), second = text.find(':', first + 1);
  return {.kind = text.substr(0, first),
          .always = text.substr(first + 1, second - first - 1) == "always",
          .signal = std::stoi(text.substr(second + 1))};
}

[[noreturn]] void suffer(int signal) {
  const rlimit no_core{};
  setrlimit(RLIMIT_CORE, &no_core);
  kill(getpid(), signal);
  // A stopped one may go on.
  _exit(0);
}

[[noreturn]] void work(const Role& role, const fs::path& folder) {
  tune::FrameStream stream(STDIN_FILENO, STDOUT_FILENO);
  tune::EndlessPatience patience;
  count_one(folder / "started");
  stream.send({.fields = {{"status", plan::worker_started}}, .bytes = {}});
  tune::Frame asked;
  const auto any = [](const tune::Frame&) { return std::uint64_t{1} << 30; };
  while (stream.receive(asked, patience, any) == tune::FrameStream::State::done) {
    const std::string verb = asked.text("verb");
    const bool is_bad =
        verb == (role.kind == "start" ? "problem" : "candidate") && (count_one(folder / "asked") == 1 || role.always);
    if (is_bad && role.signal != 0) suffer(role.signal);
    if (is_bad && role.kind == "hang")
      for (;;) pause();
    if (is_bad && role.kind == "nonsense") {
      const std::string text = "this is no frame, since it begins with letters";
      if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(4);
      continue;
    }
    const std::string other = role.kind == "no status" ? "" : role.kind == "odd status" ? "measured" : "passed";
    stream.send(answer_of(verb != "candidate" ? "ready" : is_bad ? other : "passed"));
  }
  _exit(0);
}

/// Becomes a worker before doctest starts, where the environment says so.
const bool is_test_process = [] {
  const char* role = std::getenv("VOSTOK_TEST_ROLE");
  const char* folder = std::getenv("VOSTOK_TEST_FOLDER");
  if (role == nullptr || folder == nullptr) return true;
  work(role_of(role), folder);
}();

/// A client whose tool plays a role.
class Played {
 public:
  explicit Played(const std::string& role, double timeout_seconds = 60) {
    const fs::path tool =
        folder.write("tool", fmt::format("#!/bin/sh\nVOSTOK_TEST_ROLE='{}' VOSTOK_TEST_FOLDER='{}' exec '{}'\n", role,
                                         folder.path().string(), fs::read_symlink("/proc/self/exe").string()));
    fs::permissions(tool, fs::perms::owner_all);
    session = fixture.session({.worker = {.tool = tool, .timeout_seconds = timeout_seconds}});
    task.query = ops::make_query(BiasActivation{.rows = 8, .columns = 16}, {}, {0, 0}, fixture.device.get());
    client = std::make_unique<plan::WorkerClient>(*session, task, 0, 1);
  }
  tune::Admission ask(double seconds = 600) { return client->ask(candidate, digest, seconds, INFINITY); }
  int started() const { return counted(folder / "started"); }

  TemporaryFolder folder;
  test::Fixture fixture;
  std::shared_ptr<plan::Session> session;
  plan::Task task;
  tune::Candidate candidate{.family = "bias_activation", .config = ops::Config::of(BiasActivationConfig{})};
  std::unique_ptr<plan::WorkerClient> client;
};

}  // namespace

TEST_CASE("a candidate whose worker others end or stop is tried once more, and passes") {
  REQUIRE(is_test_process);
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGSTOP, SIGTSTP}) {
    CAPTURE(signal);
    // A stopped worker is waited for as long as one that runs.
    const bool stops = signal == SIGSTOP || signal == SIGTSTP;
    Played played(fmt::format("signal:once:{}", signal), stops ? 2 : 60);
    const tune::Admission admission = played.ask();
    CAPTURE(admission.reason);
    CHECK(admission.status.empty());
    CHECK(admission.verified);
    CHECK(admission.measured.value_or(tune::Summary{}).median_us == 2.5);
    CHECK(admission.measured.value_or(tune::Summary{}).spread_us == 0.125);
    CHECK(admission.rounds == 3);
    CHECK(played.started() == 2);
  }
}

TEST_CASE("a candidate whose worker others end each time is untested, which is no failure, and the next one is tried") {
  for (const int signal : {SIGKILL, SIGTERM}) {
    Played played(fmt::format("signal:always:{}", signal));
    for (int i = 1; i <= 2; ++i) {
      const tune::Admission admission = played.ask();
      CHECK(admission.status == "untested");
      CHECK_FALSE(plan::is_failure(admission.status, admission.reason));
      CHECK(admission.reason.find(fmt::format("signal {}", signal)) != std::string::npos);
      CHECK(played.started() == 2 * i);
    }
    CHECK(played.client->unavailable().empty());
  }
}

TEST_CASE("a candidate that faults is banned at its first fault, and the next one has a new worker") {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) {
    CAPTURE(signal);
    Played played(fmt::format("signal:once:{}", signal));
    const tune::Admission admission = played.ask();
    CAPTURE(admission.reason);
    CHECK(admission.status == "faulted");
    CHECK(plan::is_failure(admission.status, admission.reason));
    CHECK(played.started() == 1);
    CHECK(played.ask().status.empty());
    CHECK(played.started() == 2);
  }
}

TEST_CASE("a candidate that hangs is banned, unless the budget ended first") {
  {
    Played played("hang:once:0", 1);
    const tune::Admission admission = played.ask();
    CHECK(admission.status == "hung");
    CHECK(admission.reason == "no answer within 1 s");
    CHECK(played.started() == 1);
  }
  Played played("hang:always:0");
  CHECK(played.ask(3).status == "not_reached");
}

TEST_CASE("a worker that others end before a candidate was asked is started once more") {
  {
    Played played(fmt::format("start:once:{}", SIGKILL));
    CHECK(played.ask().status.empty());
    CHECK(played.started() == 2);
  }
  Played played(fmt::format("start:always:{}", SIGKILL));
  const tune::Admission admission = played.ask();
  CHECK(admission.status == "untested");
  CHECK(played.client->unavailable().find("signal 9") != std::string::npos);
  CHECK(played.started() == 2);
  CHECK(played.ask().status == "untested");
  CHECK(played.started() == 2);
}

TEST_CASE("an answer that makes no sense admits nothing") {
  for (const char* role : {"no status:once:0", "odd status:once:0"}) {
    CAPTURE(std::string(role));
    Played played(role);
    const tune::Admission admission = played.ask();
    CHECK(admission.status == "untested");
    CHECK(admission.reason.find("makes no sense: code_digest=code") != std::string::npos);
    CHECK(played.ask().status.empty());
  }
  Played played("nonsense:once:0");
  const tune::Admission admission = played.ask();
  CHECK(admission.status == "faulted");
  CHECK(admission.reason.find("no frames") != std::string::npos);
}

TEST_CASE("a time-out that leaves a worker no time starts none, and bans nothing") {
  for (const double seconds : {0.0, -1.0, std::nan("")}) {
    Played played("answer:once:0", seconds);
    CHECK(played.ask().status == "untested");
    CHECK(played.client->unavailable().find("timeout_seconds") != std::string::npos);
    CHECK(played.started() == 0);
  }
}

TEST_CASE("a stored fault is none where others had ended the worker, as older versions wrote it") {
  CHECK(plan::is_failure("faulted", "its process ended: signal 11 (Segmentation fault)"));
  CHECK(plan::is_failure("faulted", "its process ended: exit status 1: ==7==ERROR: AddressSanitizer"));
  CHECK(plan::is_failure("faulted", "an illegal memory access"));
  CHECK(plan::is_failure("wrong", "its process ended: signal 9 (Killed)"));
  for (const char* reason : {"its process ended: signal 9 (Killed)",
                             "its process ended: signal 15 (Terminated): last line", "its process ended: signal 24"})
    CHECK_FALSE(plan::is_failure("faulted", reason));
  for (const char* status : {"measured", "untested", "screened", "banned", ""})
    CHECK_FALSE(plan::is_failure(status, ""));
}
