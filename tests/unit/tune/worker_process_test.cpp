#include "tune/worker_process.hpp"

#include <doctest/doctest.h>
#include <signal.h>  // NOLINT: kill
#include <stdlib.h>  // NOLINT: setenv

#include <fstream>

#include "base/environment.hpp"
#include "base/temporary_folder.hpp"

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
  Variable(const char* name, const std::string& value) : name_(name), before_(environment(name)) { setenv(name, value.c_str(), 1); }
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
  const fs::path given = script(folder, "given", ""), named = script(folder, "named", ""), found = script(folder, "bin/vostok", "");
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

TEST_CASE("a worker that ends tells how, with the last line of its errors") {
  const TemporaryFolder folder;
  std::string why;
  auto worker = WorkerProcess::start(script(folder, "ends", "echo first >&2; echo 'cannot go on' >&2; exit 3\n"), why);
  REQUIRE(worker);
  tune::Frame frame;
  CHECK(worker->stream().receive(frame) == tune::FrameStream::State::closed);
  CHECK(worker->last_words() == "exit status 3: cannot go on");
  worker = WorkerProcess::start(script(folder, "faults", "kill -SEGV $$\n"), why);
  REQUIRE(worker);
  CHECK(worker->stream().receive(frame) == tune::FrameStream::State::closed);
  CHECK(worker->last_words().starts_with("signal 11"));
}

TEST_CASE("a worker is told its command, and dies with its owner whatever it does") {
  const TemporaryFolder folder;
  const fs::path note = folder / "note";
  std::string why;
  auto worker = WorkerProcess::start(script(folder, "lives",
                                            "echo $$ $1 > " + note.string() + ".new\nmv " + note.string() + ".new " + note.string() +
                                                "\ntrap '' TERM INT HUP\nwhile :; do :; done\n"),
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
