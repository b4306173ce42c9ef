// The host C++ compiler as a Compiler: from a Source to a shared object in memory.
#pragma once

#include <memory>

#include "base/environment.hpp"
#include "device/device.hpp"

namespace vostok::device::emulator {

/// VOSTOK_CXX, else CXX, else `c++`. It is killed if it takes longer than VOSTOK_CXX_TIMEOUT seconds. Errors:
/// no_compiler naming what was tried, invalid_argument. With privileges raised neither variables nor PATH choose
/// programs: only the system's own are used.
std::unique_ptr<const Compiler> open_host_compiler(bool raised = privileges_are_raised());

/// The command that would be used, for reports; runs nothing.
std::string host_compiler_command(bool raised = privileges_are_raised());

}  // namespace vostok::device::emulator
