// Runs a program and waits for it.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "device/emulator/memory_file.hpp"

namespace vostok::device::emulator {

struct ChildResult {
  bool started = false;
  bool timed_out = false;  ///< it was killed, with everything that it had started
  int status = 0;          ///< exit status; 128 + the signal that ended it; errno if it did not start
  std::string log;         ///< stdout and stderr together
};

struct ChildTask {
  std::vector<std::string> command;            ///< [0] is looked up in PATH; no shell is involved
  std::chrono::seconds limit;                  ///< killed after this
  const MemoryFile* input = nullptr;           ///< its standard input
  std::vector<const MemoryFile*> shared = {};  ///< open in the child too, under the same paths
  bool bare = false;                           ///< its environment is only the system's PATH
};

/// The child leads its own process group: what it starts ends with it, and a terminal's Ctrl-C does not reach it.
ChildResult run_child(const ChildTask& task);

}  // namespace vostok::device::emulator
