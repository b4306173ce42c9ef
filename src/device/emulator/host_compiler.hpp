// The host C++ compiler as a Compiler: from a Source to a shared object in memory.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace vostok::device::emulator {

/// VOSTOK_CXX, else CXX, else `c++`. It is killed where it takes longer than the seconds of VOSTOK_CXX_TIMEOUT.
/// Errors: no_compiler naming what was tried, invalid_argument.
std::unique_ptr<const Compiler> open_host_compiler();

/// The command that would be used, for reports: runs nothing.
std::string host_compiler_command();

}  // namespace vostok::device::emulator
