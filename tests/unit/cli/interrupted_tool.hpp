// The built tool, and Ctrl-C.
#pragma once

#include <string>
#include <vector>

#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {

/// Runs the tool until it says `part` on stderr, and interrupts it then. What it said on stdout, and its exit status.
Outcome interrupted_at(const Tool& tool, const std::vector<std::string>& arguments, const std::string& part);

}  // namespace vostok::cli::testing
