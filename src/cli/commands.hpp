// The subcommands. Each function adds one; running it sets `status`, which must outlive the parsing. Commands that may
// measure get the path of the running tool, which they start as the tuner's worker.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace vostok::cli {

class Job;
struct RunOptions;

void add_run(CLI::App& parent, int& status,
             const std::filesystem::path& tool);  ///< `vostok run`, with a subcommand for each operation
void add_tune(CLI::App& parent, int& status, const std::filesystem::path& tool);  ///< `vostok tune`
void add_capture(CLI::App& parent);                                               ///< `vostok capture`
void add_doctor(CLI::App& parent, int& status);                                   ///< `vostok doctor`
void add_study(CLI::App& parent, int& status);                                    ///< `vostok study`
void add_cache(CLI::App& parent, int& status);                                    ///< `vostok cache`
void add_tune_worker(CLI::App& parent, int& status);                              ///< `vostok tune-worker`
void add_pack(CLI::App& parent, int& status);                                     ///< `vostok pack`

/// Receives the job of a command line below `vostok run`, or of a line of a problem file.
using TakeJob = std::function<void(const RunOptions& options, std::unique_ptr<Job> job)>;

/// Adds a subcommand for each operation; parsing one passes its job to `take`.
void add_operations(CLI::App& parent, const TakeJob& take);
void add_spmm(CLI::App& parent, const TakeJob& take);
void add_sddmm(CLI::App& parent, const TakeJob& take);
void add_softmax(CLI::App& parent, const TakeJob& take);
void add_attention(CLI::App& parent, const TakeJob& take);
void add_depthwise(CLI::App& parent, const TakeJob& take);
void add_bias(CLI::App& parent, const TakeJob& take);
void add_im2col(CLI::App& parent, const TakeJob& take);

}  // namespace vostok::cli
