// From a Source to one self-contained C++ text for the host compiler.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"

namespace vostok::device::emulator {

/// The shim's files, embedded at build time, sorted by name.
const std::vector<Header>& embedded_shim();

/// Digest of the shim: it is part of every generated kernel.
const std::string& shim_digest();

/// Shim, headers, main text and entry points, each under its own name for messages.
std::string translation_unit(const Source& source);

}  // namespace vostok::device::emulator
