// The host C++ compiler as a Compiler: from a Source to a shared object in memory.
#pragma once

#include <memory>

#include "base/environment.hpp"
#include "device/device.hpp"

namespace vostok::device::emulator {

/// VOSTOK_CXX, else CXX, else `c++`. It is killed where it takes longer than the seconds of VOSTOK_CXX_TIMEOUT.
/// Errors: no_compiler naming what was tried, invalid_argument.
/// With privileges raised neither variables nor PATH choose programs: it is the system's own.
std::unique_ptr<const Compiler> open_host_compiler(bool raised = privileges_are_raised());

/// The command that would be used, for reports: runs nothing.
std::string host_compiler_command(bool raised = privileges_are_raised());

}  // namespace vostok::device::emulator
