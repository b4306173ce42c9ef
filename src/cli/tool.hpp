// The `vostok` tool: subcommands, and what an error becomes.
#pragma once

namespace vostok::cli {

/// For the tool's main alone: the running program takes itself for the tool, and starts itself as the tuner's worker.
/// Parses, runs, returns the exit status. Results go to stdout; errors, notices and progress to stderr. Never throws.
/// Where stdout does not take everything that was printed, a sentence says why and the status is not 0.
/// SIGPIPE stays as the caller left it. By default a reader that ends early (`| head`) ends the tool without a word, as any
/// filter. Where the signal is ignored, that is a failed write as any other.
int run_tool(int argc, const char* const* argv);

}  // namespace vostok::cli
