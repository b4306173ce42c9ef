// Runs a program and waits for it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/emulator/memory_file.hpp"

namespace vostok::device::emulator {

struct ChildResult {
  bool started = false;
  int status = 0;   ///< exit status; 128 + the signal that ended it; errno where it did not start
  std::string log;  ///< stdout and stderr together
};

/// Looks `command[0]` up in PATH; no shell is involved. `shared[i]` is open in the child as shared_path(i); `input` is
/// its standard input.
ChildResult run_child(const std::vector<std::string>& command, const MemoryFile* input = nullptr, std::span<const MemoryFile* const> shared = {});

/// The path of `shared[i]` in the child.
std::string shared_path(std::size_t i);

}  // namespace vostok::device::emulator
