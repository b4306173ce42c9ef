#include "unit/device/child_outcome.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>

#include "device/emulator/memory_file.hpp"

namespace emulator_test {
namespace {

constexpr int finished_status = 40;
constexpr int threw_status = 41;
constexpr unsigned most_seconds = 120;

[[noreturn]] void run_and_exit(const std::function<void()>& body, int log) {
  dup2(log, STDERR_FILENO);
  dup2(log, STDOUT_FILENO);
  alarm(most_seconds);
  // The test runner's handlers would report a fault as its own. AddressSanitizer reports before any signal.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT}) std::signal(signal, SIG_DFL);
  int status = finished_status;
  try {
    body();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (write(log, text.data(), text.size()) >= 0) status = threw_status;
  }
  _exit(status);
}

}  // namespace

ChildOutcome in_child(const std::function<void()>& body) {
  const vostok::device::emulator::MemoryFile log("child-log");
  std::cout.flush();  // else the child writes it too
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) run_and_exit(body, log.descriptor());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE_MESSAGE(!(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM), "the child hung");
  const bool threw = WIFEXITED(status) && WEXITSTATUS(status) == threw_status;
  return {.finished = threw || (WIFEXITED(status) && WEXITSTATUS(status) == finished_status), .threw = threw, .log = log.read()};
}

}  // namespace emulator_test
