#include "device/emulator/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"

extern char** environ;

namespace vostok::device::emulator {
namespace {

/// Above what a process has open at the time, so that no descriptor is overwritten before it is duplicated.
constexpr int first_shared_descriptor = 900;

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void open_null(int descriptor) { posix_spawn_file_actions_addopen(&actions_, descriptor, "/dev/null", O_RDONLY, 0); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

/// Where SIGCHLD is ignored nothing is left to wait for: what the child wrote has to tell.
int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string shared_path(std::size_t i) { return fmt::format("/proc/self/fd/{}", first_shared_descriptor + static_cast<int>(i)); }

ChildResult run_child(const std::vector<std::string>& command, const MemoryFile* input, std::span<const MemoryFile* const> shared) {
  const MemoryFile log("log");
  FileActions actions;
  for (std::size_t i = 0; i < shared.size(); ++i) actions.duplicate(shared[i]->descriptor(), first_shared_descriptor + static_cast<int>(i));
  actions.duplicate(log.descriptor(), STDERR_FILENO);
  actions.duplicate(log.descriptor(), STDOUT_FILENO);
  if (input != nullptr) actions.duplicate(input->descriptor(), STDIN_FILENO);
  else actions.open_null(STDIN_FILENO);

  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  ChildResult result;
  pid_t child = 0;
  result.status = posix_spawnp(&child, arguments[0], actions.get(), nullptr, arguments.data(), environ);
  result.started = result.status == 0;
  if (result.started) result.status = wait_for(child);
  result.log = log.read();
  return result;
}

}  // namespace vostok::device::emulator
