// `vostok pack`: compiles the kernels of problems for GPUs that need not be present, into one file. It serves plans
// where compiling is forbidden.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vostok::cli {

struct PackOptions {
  std::vector<std::string> architectures = {};  ///< "sm_80", ...
  std::vector<std::string> like = {};   ///< names of GPUs, or files of tuned choices, whose devices are the targets
  std::filesystem::path problems = {};  ///< empty: packs every choice in the files of `like`
  int candidates = 0;                   ///< also compiles this many candidates of each problem
  bool helpers = false;  ///< only kernels of `problems` that belong to no family (compile_helpers), and those of tools
  std::filesystem::path out = {};
  bool partial = false;                             ///< keep what was packed if something fails, or Ctrl-C ends it
  std::string cache = {};                           ///< folder of the tuned choices; empty: the default
  std::optional<std::filesystem::path> nvrtc = {};  ///< default: searched for
};

/// The packing result for one device.
struct PackedDevice {
  std::string name = {};
  std::string architecture = {};
  int multiprocessors = 0;
  std::int64_t kernels = 0;   ///< of this device's architecture, compiled for this device first
  std::int64_t problems = 0;  ///< problems that can be planned
  std::int64_t tuned = 0;     ///< of those, with every choice tuned for exactly that problem, on a device of this model
  std::int64_t nearest = 0;   ///< of the others, with every choice tuned, but some for a near problem or device
};

struct PackReport {
  std::vector<PackedDevice> devices = {};
  std::int64_t bytes = 0;                  ///< of the file; 0 if none was written
  std::vector<std::string> failures = {};  ///< "problems.txt:3 for sm_75: cannot plan ..."
  bool interrupted = false;                ///< by SIGINT, before everything was tried

  bool is_whole() const { return failures.empty() && !interrupted; }
  bool is_written() const { return bytes > 0; }
};

/// The target devices of the options, as for open_compile_only, each once. Errors: invalid_argument, io_failure.
std::vector<std::string> pack_targets(const PackOptions& options);

/// Plans every problem for every device (or, without problems, the problem of every choice in the files). Writes all
/// kernels of the plans, of packing, of the topologies' steps and of the tools that take such matrices
/// (cli/pack_tools.hpp) to `options.out`, which is replaced as a whole. A problem that cannot be planned for a device
/// is a failure in the report. After a failure or SIGINT `options.out` stays as it was or, with `partial`, gets what
/// was packed, if anything. Errors: invalid_argument, io_failure, no_compiler; `options.out` then stays as it was. With
/// `partial`, if another device's kernels were already packed, the error becomes a failure in the report instead.
PackReport pack(const PackOptions& options);

std::string pack_text(const PackOptions& options, const PackReport& report);
std::string pack_json(const PackOptions& options, const PackReport& report);

}  // namespace vostok::cli
