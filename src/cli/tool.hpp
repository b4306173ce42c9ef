// The `vostok` tool: subcommands, and what an error becomes.
#pragma once

namespace vostok::cli {

/// For the tool's main alone: the running program takes itself for the tool, and starts itself as the tuner's worker.
/// Parses, runs, returns the exit status. Results go to stdout; errors, notices and progress to stderr. Never throws.
int run_tool(int argc, const char* const* argv);

}  // namespace vostok::cli
