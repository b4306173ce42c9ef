// The subcommands. Each function adds one; running it sets `status`, which must outlive the parsing.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace vostok::cli {

void add_run_spmm(CLI::App& parent, int& status);  ///< `vostok run spmm`
void add_doctor(CLI::App& parent, int& status);    ///< `vostok doctor`
void add_study(CLI::App& parent, int& status);     ///< `vostok study`

}  // namespace vostok::cli
