#include "tune/worker_process.hpp"

#include <doctest/doctest.h>
#include <signal.h>  // NOLINT: kill
#include <stdlib.h>  // NOLINT: setenv

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/environment.hpp"
#include "base/temporary_folder.hpp"
#include "unit/flushed_fork.hpp"

using namespace vostok;
using tune::WorkerProcess;

namespace {

namespace fs = std::filesystem;

fs::path script(const TemporaryFolder& folder, const std::string& name, const std::string& body) {
  const fs::path file = folder.write(name, "#!/bin/sh\n" + body);
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

/// Sets a variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), before_(environment(name)) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_) setenv(name_, before_->c_str(), 1);
    else unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("the tool is the one that is given, else VOSTOK_TOOL, else in PATH, else it is said what was looked for") {
  const TemporaryFolder folder;
  const fs::path given = script(folder, "given", ""), named = script(folder, "named", ""),
                 found = script(folder, "bin/vostok", "");
  std::string why;
  const Variable path("PATH", "/nowhere:" + (folder / "bin").string());
  {
    const Variable variable("VOSTOK_TOOL", named.string());
    CHECK(tune::find_tool(given, why) == given);
    CHECK(tune::find_tool(std::nullopt, why) == named);
  }
  const Variable unset("VOSTOK_TOOL", "");
  CHECK(tune::find_tool(std::nullopt, why) == found);
  CHECK_FALSE(tune::find_tool(folder / "absent", why));
  CHECK(why.find("absent") != std::string::npos);
  const Variable nothing("PATH", "/nowhere");
  CHECK_FALSE(tune::find_tool(std::nullopt, why));
  CHECK(why.find("PATH") != std::string::npos);
}

TEST_CASE(
    "a program that has the tool's name is not the tool: it finds itself nowhere, nor a vostok in a relative folder") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "own");
  fs::create_symlink(fs::read_symlink("/proc/self/exe"), folder / "own/vostok");
  const fs::path found = script(folder, "bin/vostok", "");
  const Variable no_variable("VOSTOK_TOOL", "");
  std::string why;
  const fs::path relative = fs::relative(folder / "bin");
  const Variable path("PATH", (folder / "own").string() + ":" + relative.string());
  CHECK_FALSE(tune::find_tool(std::nullopt, why));
  const Variable longer("PATH", (folder / "own").string() + ":" + (folder / "bin").string());
  CHECK(tune::find_tool(std::nullopt, why) == found);
}

TEST_CASE("with raised privileges no variable names the tool, and what was given is taken") {
  const TemporaryFolder folder;
  const fs::path tool = script(folder, "bin/vostok", "");
  const Variable path("PATH", (folder / "bin").string());
  std::string why;
  CHECK_FALSE(tune::find_tool(std::nullopt, why, true));
  CHECK(why.find("raised privileges") != std::string::npos);
  const Variable variable("VOSTOK_TOOL", tool.string());
  CHECK_FALSE(tune::find_tool(std::nullopt, why, true));
  CHECK(tune::find_tool(tool, why, true) == tool);
  CHECK(tune::find_tool(std::nullopt, why, false) == tool);
}

TEST_CASE("a worker of a program with raised privileges gets no variable of who started that") {
  const TemporaryFolder folder;
  const Variable named("VOSTOK_NVRTC", "/home/somebody");
  const fs::path tool = script(folder, "tells", "echo \"<$VOSTOK_NVRTC$VOSTOK_TUNE_WORKER>\" >&2; exit 3\n");
  std::string why;
  CHECK(WorkerProcess::start(tool, why, true)->end().words == "exit status 3: <1>");
  CHECK(WorkerProcess::start(tool, why, false)->end().words == "exit status 3: </home/somebody1>");
}

TEST_CASE("a worker knows that it is one, and starts none") {
  const TemporaryFolder folder;
  std::string why;
  auto worker = WorkerProcess::start(script(folder, "tells", "echo $VOSTOK_TUNE_WORKER >&2; exit 3\n"), why);
  REQUIRE(worker);
  CHECK(worker->end().words == "exit status 3: 1");
  const Variable variable("VOSTOK_TUNE_WORKER", "1");
  CHECK_FALSE(tune::find_tool(script(folder, "given", ""), why));
  CHECK(why.find("VOSTOK_TUNE_WORKER") != std::string::npos);
}

TEST_CASE("a worker that ends tells how, with the last line of its errors") {
  const TemporaryFolder folder;
  std::string why;
  auto worker = WorkerProcess::start(script(folder, "ends", "echo first >&2; echo 'cannot go on' >&2; exit 3\n"), why);
  REQUIRE(worker);
  tune::Frame frame;
  tune::EndlessPatience patience;
  CHECK(worker->stream().receive(frame, patience) == tune::FrameStream::State::closed);
  CHECK(worker->end().words == "exit status 3: cannot go on");
  worker = WorkerProcess::start(script(folder, "faults", "kill -SEGV $$\n"), why);
  REQUIRE(worker);
  CHECK(worker->stream().receive(frame, patience) == tune::FrameStream::State::closed);
  const tune::WorkerEnd end = worker->end();
  CHECK(end.words.starts_with("signal 11"));
  CHECK(end.of_code);
}

TEST_CASE("an end by a fault is the code's, and one by a signal from outside, a limit or an unknown status is not") {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) {
    CAPTURE(signal);
    CHECK(tune::worker_end(W_EXITCODE(0, signal)).of_code);
    CHECK(tune::worker_end(W_EXITCODE(128 + signal, 0)).of_code);  // of a shell around the tool
  }
  for (const int signal :
       {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ, SIGPIPE, SIGALRM, SIGUSR1, SIGSTKFLT}) {
    CAPTURE(signal);
    CHECK_FALSE(tune::worker_end(W_EXITCODE(0, signal)).of_code);
    CHECK_FALSE(tune::worker_end(W_EXITCODE(128 + signal, 0)).of_code);
  }
  for (const int sanitizer : {1, 23, 66, 77}) CHECK(tune::worker_end(W_EXITCODE(sanitizer, 0)).of_code);
  for (const int status : {0, 2, 3, 126, 127}) CHECK_FALSE(tune::worker_end(W_EXITCODE(status, 0)).of_code);
  CHECK_FALSE(tune::worker_end(std::nullopt).of_code);
  CHECK(tune::worker_end(W_EXITCODE(0, SIGKILL)).words == "signal 9 (Killed)");
}

TEST_CASE("a worker that closes its stream and lives on is killed, and that says nothing of its code") {
  const TemporaryFolder folder;
  std::string why;
  auto worker =
      WorkerProcess::start(script(folder, "lives", "exec < /dev/null > /dev/null\nwhile :; do sleep 1; done\n"), why);
  REQUIRE(worker);
  tune::Frame frame;
  tune::EndlessPatience patience;
  CHECK(worker->stream().receive(frame, patience) == tune::FrameStream::State::closed);
  CHECK_FALSE(worker->end().of_code);
}

TEST_CASE("a stopped worker's time does not count as its code's, and is not without end") {
  const pid_t child = test::flushed_fork();
  if (child == 0)
    for (;;) pause();
  REQUIRE(child > 0);
  const auto wait_out = [&](tune::WorkerPatience& patience) {
    while (const int ms = patience.next_wait_ms()) std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  };
  tune::WorkerPatience running(child, 0.05);
  wait_out(running);
  CHECK_FALSE(running.worker_was_stopped());
  kill(child, SIGSTOP);
  int status = 0;
  REQUIRE(waitpid(child, &status, WUNTRACED) == child);
  CHECK(tune::is_stopped(child));
  tune::WorkerPatience stopped(child, 0.05);
  wait_out(stopped);
  CHECK(stopped.worker_was_stopped());
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

TEST_CASE("time in which this process did not run does not count") {
  tune::WorkerPatience patience(getpid(), 1.5);
  // As if it had been stopped: nobody looked in the meantime.
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  CHECK(patience.next_wait_ms() > 0);
}

TEST_CASE("where what a worker prints can be kept nowhere, the file is named") {
  const TemporaryFolder folder;
  const fs::path tool = script(folder, "tool", "");
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = dup(STDERR_FILENO);
  close(next);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 2;  // for the pair of sockets
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  std::string why;
  const auto worker = WorkerProcess::start(tool, why);
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK_FALSE(worker);
  CHECK(why.find("memfd:vostok-worker") != std::string::npos);
}

TEST_CASE("a worker is told its command, and dies with its owner whatever it does") {
  const TemporaryFolder folder;
  const fs::path note = folder / "note";
  std::string why;
  auto worker = WorkerProcess::start(script(folder, "lives",
                                            "echo $$ $1 > " + note.string() + ".new\nmv " + note.string() + ".new " +
                                                note.string() + "\ntrap '' TERM INT HUP\nwhile :; do :; done\n"),
                                     why);
  REQUIRE(worker);
  while (!fs::exists(note)) continue;
  int child = 0;
  std::string command;
  std::ifstream(note) >> child >> command;
  CHECK(command == "tune-worker");
  CHECK(kill(child, 0) == 0);
  worker.reset();
  CHECK(kill(child, 0) != 0);
}

TEST_CASE("a program that cannot be started is no worker, and it is said why") {
  const TemporaryFolder folder;
  std::string why;
  CHECK_FALSE(WorkerProcess::start(folder / "absent", why));
  CHECK(why.find("absent") != std::string::npos);
}
