#include "tune/worker_process.hpp"

#include <fcntl.h>
#include <signal.h>  // NOLINT: kill
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/environment.hpp"
#include "base/text.hpp"

namespace vostok::tune {

namespace {

namespace fs = std::filesystem;

constexpr const char* tool_name = "vostok";
/// Set in workers, so that no program taken for the tool starts a worker in turn.
constexpr const char* worker_variable = "VOSTOK_TUNE_WORKER";

bool can_run(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0;
}

bool is_this_program(const fs::path& file) {
  std::error_code ignored;
  return fs::equivalent(file, "/proc/self/exe", ignored);
}

std::optional<fs::path> in_path(const std::string& folders) {
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path folder = folders.substr(begin, end - begin);
    fs::path file = folder / tool_name;
    if (folder.is_absolute() && can_run(file) && !is_this_program(file)) return file;
    begin = end + 1;
  }
  return std::nullopt;
}

/// This process's variables, plus the one that marks a worker. If privileges are raised, only that one: a process may
/// since have made the privileges its own, so that its worker could not tell.
class WorkerEnvironment {
 public:
  explicit WorkerEnvironment(bool privileges_raised) {
    const std::string_view name = std::string_view(mark_).substr(0, mark_.find('=') + 1);
    for (char** variable = environ; !privileges_raised && *variable != nullptr; ++variable)
      if (!std::string_view(*variable).starts_with(name)) pointers_.push_back(*variable);
    pointers_.push_back(mark_.data());
    pointers_.push_back(nullptr);
  }
  WorkerEnvironment(const WorkerEnvironment&) = delete;
  WorkerEnvironment& operator=(const WorkerEnvironment&) = delete;
  char* const* get() const { return pointers_.data(); }

 private:
  std::string mark_ = fmt::format("{}=1", worker_variable);
  std::vector<char*> pointers_;
};

/// Descriptors of a new process and how it starts: in a process group of its own, with no signal blocked or ignored.
class Spawning {
 public:
  Spawning() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    for (const int signal : {SIGINT, SIGPIPE, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawning() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  void give(int descriptor, int as) { posix_spawn_file_actions_adddup2(&actions_, descriptor, as); }
  /// Returns 0, or the error number.
  int start(const fs::path& tool, bool privileges_raised, pid_t& child) {
    std::string name = tool.string();
    std::string command = "tune-worker";
    std::array<char*, 3> arguments = {name.data(), command.data(), nullptr};
    return posix_spawn(&child, tool.c_str(), &actions_, &attributes_, arguments.data(),
                       WorkerEnvironment(privileges_raised).get());
  }

 private:
  posix_spawn_file_actions_t actions_ = {};
  posix_spawnattr_t attributes_ = {};
};

/// Whether a child ends in that time. `status` is then as from waitpid; nothing if another part of the
/// program has reaped the child.
bool ends_within(pid_t child, std::chrono::seconds limit, std::optional<int>& status) {
  constexpr std::chrono::milliseconds between(1);
  for (const auto start = Patience::Clock::now(); Patience::Clock::now() - start < limit;) {
    int ended_with = 0;
    const pid_t ended = waitpid(child, &ended_with, WNOHANG);
    if (ended == child) status = ended_with;
    if (ended == child || (ended < 0 && errno != EINTR)) return true;
    std::this_thread::sleep_for(between);
  }
  return false;
}

constexpr const char* errors_name = "vostok-worker";

/// The last line of a file, without unprintable characters.
std::string last_line(int descriptor) {
  constexpr off_t most = 4096;
  const off_t end = lseek(descriptor, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::min(std::max<off_t>(end, 0), most)), '\0');
  const ssize_t got = pread(descriptor, text.data(), text.size(), end - static_cast<off_t>(text.size()));
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  text.erase(0, text.rfind('\n') + 1);
  return text;
}

}  // namespace

std::optional<fs::path> find_tool(const std::optional<fs::path>& given, std::string& why, bool privileges_raised) {
  if (environment(worker_variable)) {
    why = fmt::format("this process was started as a worker itself ({} is set)", worker_variable);
    return std::nullopt;
  }
  if (given) {
    if (can_run(*given)) return given;
    why = fmt::format("Options::worker.tool = {} is no program", given->string());
    return std::nullopt;
  }
  if (privileges_raised) {
    why =
        "Options::worker.tool is not set, and a program with raised privileges takes no tool from VOSTOK_TOOL or PATH";
    return std::nullopt;
  }
  if (const auto named = trusted_environment("VOSTOK_TOOL")) {
    if (can_run(*named)) return *named;
    why = fmt::format("VOSTOK_TOOL = {} is no program", *named);
    return std::nullopt;
  }
  if (auto found = in_path(trusted_environment("PATH").value_or(""))) return found;
  why = "neither Options::worker.tool nor VOSTOK_TOOL is set, and there is no vostok in PATH";
  return std::nullopt;
}

std::unique_ptr<WorkerProcess> WorkerProcess::start(const fs::path& tool, std::string& why, bool privileges_raised) {
  std::array<int, 2> sockets = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    why = fmt::format("no socket pair: {}", std::strerror(errno));
    return nullptr;
  }
  const int errors = memfd_create(errors_name, MFD_CLOEXEC);
  if (errors < 0) {
    why = fmt::format("no file in memory for what it prints (memfd:{}): {}", errors_name, std::strerror(errno));
    for (const int socket : sockets) close(socket);
    return nullptr;
  }
  Spawning spawning;
  spawning.give(sockets[1], STDIN_FILENO);
  spawning.give(sockets[1], STDOUT_FILENO);
  spawning.give(errors, STDERR_FILENO);
  pid_t child = -1;
  const int error = spawning.start(tool, privileges_raised, child);
  close(sockets[1]);
  if (error != 0) {
    why = fmt::format("{} does not start: {}", tool.string(), std::strerror(error));
    close(sockets[0]);
    close(errors);
    return nullptr;
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(child, sockets[0], errors));
}

WorkerProcess::~WorkerProcess() {
  wait(false);
  close(socket_);
  close(errors_);
}

std::optional<int> WorkerProcess::wait(bool may_end_by_itself) {
  // A worker that has closed its stream is about to end, and how it ends is worth knowing.
  constexpr std::chrono::seconds to_end(2);
  // A process that hangs in a driver may not even die when killed: the wait has a limit.
  constexpr std::chrono::seconds to_be_killed(10);
  if (child_ < 0) return std::nullopt;
  const pid_t child = std::exchange(child_, -1);
  std::optional<int> status;
  if (may_end_by_itself && ends_within(child, to_end, status)) return status;
  kill(child, SIGKILL);
  ends_within(child, to_be_killed, status);
  return status;
}

WorkerEnd WorkerProcess::end() {
  WorkerEnd end = worker_end(wait(true));
  const std::string line = last_line(errors_);
  if (!line.empty()) end.words += ": " + line;
  return end;
}

}  // namespace vostok::tune
