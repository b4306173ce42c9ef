#include "device/emulator/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>

#include "base/text.hpp"

extern char** environ;

namespace vostok::device::emulator {
namespace {

using Clock = std::chrono::steady_clock;

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  /// Duplicates the descriptor onto itself, so that it stays open at exec.
  void keep(int descriptor) { duplicate(descriptor, descriptor); }
  void open_null(int descriptor) { posix_spawn_file_actions_addopen(&actions_, descriptor, "/dev/null", O_RDONLY, 0); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

class OwnGroup {
 public:
  OwnGroup() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  }
  ~OwnGroup() { posix_spawnattr_destroy(&attributes_); }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_ = {};
};

/// The child's status, or nothing if it still runs after `limit`. A timed wait would need a descriptor or a signal of
/// the process, so the child is polled, with pauses that are a small part of its time so far. If SIGCHLD is ignored
/// there is nothing to wait for; the child's output must then tell.
std::optional<int> end_within(pid_t child, std::chrono::milliseconds limit) {
  constexpr auto shortest = std::chrono::microseconds(100);
  constexpr auto longest = std::chrono::milliseconds(20);
  constexpr int part = 32;
  const auto start = Clock::now();
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (ended < 0 && errno != EINTR) return 0;
    const auto taken = Clock::now() - start;
    if (taken >= limit) return std::nullopt;
    std::this_thread::sleep_for(std::clamp<Clock::duration>(taken / part, shortest, longest));
  }
}

/// Kills the whole group. A process that the system cannot end is not waited for.
int kill_group(pid_t child) {
  constexpr auto grace = std::chrono::seconds(5);
  kill(-child, SIGKILL);
  return end_within(child, grace).value_or(128 + SIGKILL);
}

}  // namespace

ChildResult run_child(const ChildTask& task) {
  const MemoryFile log("log");
  FileActions actions;
  for (const MemoryFile* file : task.shared) actions.keep(file->descriptor());
  actions.duplicate(log.descriptor(), STDERR_FILENO);
  actions.duplicate(log.descriptor(), STDOUT_FILENO);
  if (task.input != nullptr) actions.duplicate(task.input->descriptor(), STDIN_FILENO);
  else actions.open_null(STDIN_FILENO);

  std::vector<char*> arguments;
  for (const std::string& argument : task.command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  ChildResult result;
  pid_t child = 0;
  const OwnGroup group;
  char path[] = "PATH=/usr/bin:/bin";
  char* bare[] = {path, nullptr};
  char** const variables = task.bare ? bare : environ;
  result.status = posix_spawnp(&child, arguments[0], actions.get(), group.get(), arguments.data(), variables);
  result.started = result.status == 0;
  if (result.started) {
    const std::optional<int> status = end_within(child, task.limit);
    result.timed_out = !status;
    result.status = status ? *status : kill_group(child);
  }
  result.log = log.read();
  return result;
}

}  // namespace vostok::device::emulator
