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
  bool timed_out = false;  ///< it was killed, with all that it had started
  int status = 0;          ///< exit status; 128 + the signal that ended it; errno where it did not start
  std::string log;         ///< stdout and stderr together
};

struct ChildTask {
  std::vector<std::string> command;            ///< [0] is looked up in PATH; no shell is involved
  std::chrono::seconds limit;                  ///< after which it is killed
  const MemoryFile* input = nullptr;           ///< its standard input
  std::vector<const MemoryFile*> shared = {};  ///< open in the child too, under the same path
  bool bare = false;                           ///< its environment is the system's PATH and nothing else
};

/// The child leads a process group of its own: what it starts ends with it, and a terminal's Ctrl-C does not reach it.
ChildResult run_child(const ChildTask& task);

}  // namespace vostok::device::emulator
