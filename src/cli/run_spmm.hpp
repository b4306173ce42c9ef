// `vostok run spmm`.
#pragma once

namespace CLI {
class App;
}

namespace vostok::cli {

/// Adds the subcommand; running it sets `status`, which must outlive `parent`'s parsing.
void add_run_spmm(CLI::App& parent, int& status);

}  // namespace vostok::cli
