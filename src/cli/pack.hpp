// `vostok pack`: the kernels of problems, compiled for GPUs that need not be here, in one file that serves plans where nothing may compile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vostok::cli {

struct PackOptions {
  std::vector<std::string> architectures = {};  ///< "sm_80", ...
  std::vector<std::string> like = {};           ///< names of GPUs, or files of tuned choices, whose devices are meant
  std::filesystem::path problems = {};          ///< empty: every choice that the files of `like` hold is packed
  int candidates = 0;                           ///< so many of each problem's candidates are compiled, too
  bool helpers = false;                         ///< of `problems` only kernels that are no family's own (compile_helpers), and those of tools
  std::filesystem::path out = {};
  bool partial = false;                             ///< keep what was packed where something cannot be, or Ctrl-C ends it
  std::string cache = {};                           ///< folder of the tuned choices; empty: the default
  std::optional<std::filesystem::path> nvrtc = {};  ///< default: searched for
};

/// What was packed for one device.
struct PackedDevice {
  std::string name = {};
  std::string architecture = {};
  int multiprocessors = 0;
  std::int64_t kernels = 0;   ///< of this device's architecture, compiled for it first
  std::int64_t problems = 0;  ///< that can be planned
  std::int64_t tuned = 0;     ///< of them: every choice was tuned for exactly that problem, on a device of this model
  std::int64_t nearest = 0;   ///< of the others: every choice was tuned, some of them for a problem or a device near this one
};

struct PackReport {
  std::vector<PackedDevice> devices = {};
  std::int64_t bytes = 0;                  ///< of the file; 0 where none was written
  std::vector<std::string> failures = {};  ///< "problems.txt:3 for sm_75: cannot plan ..."
  bool interrupted = false;                ///< by SIGINT, before everything was tried

  bool is_whole() const { return failures.empty() && !interrupted; }
  bool is_written() const { return bytes > 0; }
};

/// The devices that the options mean, as open_compile_only takes them, each once. Errors: invalid_argument, io_failure.
std::vector<std::string> pack_targets(const PackOptions& options);

/// Plans every problem (or, without problems, what every choice of the files was made for) for every device, and puts all kernels of the plans, of
/// packing, of the topologies' steps and of the tools that take such matrices (cli/pack_tools.hpp) into `options.out`, which is replaced as a whole.
/// A problem that cannot be planned for a device is a failure in the report. Where there is one, or SIGINT came,
/// `options.out` is left as it was, or, with `partial`, holds what was packed, if anything was. Errors:
/// invalid_argument, io_failure, no_compiler; `options.out` is left as it was then, too, unless with `partial` another
/// device's kernels were packed before, and the error is a failure in the report.
PackReport pack(const PackOptions& options);

std::string pack_text(const PackOptions& options, const PackReport& report);
std::string pack_json(const PackOptions& options, const PackReport& report);

}  // namespace vostok::cli
