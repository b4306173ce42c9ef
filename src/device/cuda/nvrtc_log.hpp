// Reads the compiler's log of one kernel.
#pragma once

#include <string>
#include <string_view>

#include "device/device.hpp"

namespace vostok::device::cuda {

/// Fills registers, spills, stack, static shared memory and warnings from a log made with --ptxas-options=-v. Functions
/// that were not inlined have lines of their own: registers and stack are maxima, spills are sums.
void read_resources(std::string_view log, Image& image);

/// The errors of a log, without ptxas's statistics, cut to a readable length.
std::string error_excerpt(std::string_view log);

}  // namespace vostok::device::cuda
