// `vostok study`.
#pragma once

namespace CLI {
class App;
}

namespace vostok::cli {

/// Adds the subcommand; running it sets `status`, which must outlive `parent`'s parsing.
void add_study(CLI::App& parent, int& status);

}  // namespace vostok::cli
