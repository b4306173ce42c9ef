// The process in which candidates run for the first time: `vostok tune-worker`, started by exec, spoken to over its standard input and output.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/environment.hpp"
#include "tune/worker_end.hpp"
#include "tune/worker_frame.hpp"
#include "tune/worker_patience.hpp"

namespace vostok::tune {

/// Which tool starts workers: the one that is given, else VOSTOK_TOOL, or `vostok` in an absolute folder of PATH that
/// is not this very program: one that happens to have the tool's name would start itself. Neither variable counts where
/// privileges are raised, and nothing is found in a process that was started as a worker itself. Nothing where there is
/// none; `why` then says what was looked for.
std::optional<std::filesystem::path> find_tool(const std::optional<std::filesystem::path>& given, std::string& why,
                                               bool privileges_raised = privileges_are_raised());

/// A child process that is killed with its owner. A terminal's Ctrl-C does not reach it.
class WorkerProcess {
 public:
  /// Null where it cannot be started; `why` then says so. That it starts does not mean that it is a worker: the first frames tell.
  /// Where privileges are raised it gets none of the environment's variables.
  static std::unique_ptr<WorkerProcess> start(const std::filesystem::path& tool, std::string& why, bool privileges_raised = privileges_are_raised());
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  FrameStream& stream() { return stream_; }
  /// For waiting on the stream: what the worker is given, from now on.
  WorkerPatience patience(double seconds) const { return {child_, seconds}; }
  /// Of a worker that has closed its stream: how it ended, with the last line that it wrote to its standard error. One
  /// that lives on is killed, which says nothing of the code.
  WorkerEnd end();

 private:
  WorkerProcess(pid_t child, int socket, int errors) : child_(child), socket_(socket), errors_(errors), stream_(socket, socket) {}
  /// Kills unless it ends by itself; the status as waitpid gives it, nothing where another part of the program took it.
  std::optional<int> wait(bool may_end_by_itself);

  pid_t child_;
  int socket_;
  int errors_;  ///< a file in memory that is the worker's standard error
  FrameStream stream_;
};

}  // namespace vostok::tune
