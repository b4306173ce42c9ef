// What was wrong with a command line, in words that name what was given and what is taken.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class ParseError;
}  // namespace CLI

namespace vostok::cli {

/// The command that the user was in: the innermost that the line named.
const CLI::App& command_in_use(const CLI::App& app);

/// A sentence for the error that parsing by `app` ended with.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace vostok::cli
