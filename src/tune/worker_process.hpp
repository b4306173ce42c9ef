// The process in which candidates run for the first time: `vostok tune-worker`, started by exec, spoken to over its
// standard input and output.
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

/// The tool that starts workers: `given`, else VOSTOK_TOOL, else `vostok` in an absolute folder of PATH. A `vostok` on
/// PATH that is this very program is skipped: a program that happens to have the tool's name would start itself. Both
/// variables are ignored if privileges are raised, and a process that is itself a worker finds no tool. Nothing if
/// there is none; `why` then says where it was sought.
std::optional<std::filesystem::path> find_tool(const std::optional<std::filesystem::path>& given, std::string& why,
                                               bool privileges_raised = privileges_are_raised());

/// A child process that is killed with its owner. A terminal's Ctrl-C does not reach it.
class WorkerProcess {
 public:
  /// Null if it cannot be started; `why` then says so. A started process need not be a worker: its first frames tell.
  /// If privileges are raised, it gets none of the environment's variables.
  static std::unique_ptr<WorkerProcess> start(const std::filesystem::path& tool, std::string& why,
                                              bool privileges_raised = privileges_are_raised());
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  FrameStream& stream() { return stream_; }
  /// Time limit for waiting on the stream, starting now.
  WorkerPatience patience(double seconds) const { return {child_, seconds}; }
  /// Call after the worker has closed its stream: how it ended, with the last line of its standard error. A worker that
  /// is still alive is killed, which says nothing about the code.
  WorkerEnd end();

 private:
  WorkerProcess(pid_t child, int socket, int errors)
      : child_(child), socket_(socket), errors_(errors), stream_(socket, socket) {}
  /// Kills the process unless it ends by itself. The status as from waitpid; nothing if another part of the program has
  /// reaped it.
  std::optional<int> wait(bool may_end_by_itself);

  pid_t child_;
  int socket_;
  int errors_;  ///< a file in memory that is the worker's standard error
  FrameStream stream_;
};

}  // namespace vostok::tune
