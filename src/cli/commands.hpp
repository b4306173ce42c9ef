// The subcommands. Each function adds one; running it sets `status`, which must outlive the parsing.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace vostok::cli {

void add_run(CLI::App& parent, int& status);     ///< `vostok run`, with a subcommand for each operation
void add_doctor(CLI::App& parent, int& status);  ///< `vostok doctor`
void add_study(CLI::App& parent, int& status);   ///< `vostok study`
void add_cache(CLI::App& parent, int& status);   ///< `vostok cache`
void add_tune_worker(CLI::App& parent, int& status);  ///< `vostok tune-worker`

// Below `vostok run`.
void add_run_spmm(CLI::App& parent, int& status);
void add_run_sddmm(CLI::App& parent, int& status);
void add_run_softmax(CLI::App& parent, int& status);
void add_run_attention(CLI::App& parent, int& status);
void add_run_depthwise(CLI::App& parent, int& status);

}  // namespace vostok::cli
