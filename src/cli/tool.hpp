// The `vostok` tool: subcommands, and the handling of errors.
#pragma once

namespace vostok::cli {

/// Only for the tool's main: the running program counts as the tool, and starts itself as the tuner's worker. Parses,
/// runs, returns the exit status. Results go to stdout; errors, notices and progress to stderr. Never throws. If stdout
/// does not accept everything printed, a sentence says why and the status is not 0. SIGPIPE stays as the caller left
/// it: by default a reader that ends early (`| head`) ends the tool silently, like any filter. If the signal is
/// ignored, that is a failed write like any other.
int run_tool(int argc, const char* const* argv);

}  // namespace vostok::cli
