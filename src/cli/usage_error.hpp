// Explains a bad command line, naming what was given and what is accepted.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
class ParseError;
}  // namespace CLI

namespace vostok::cli {

/// The command that the user was in: the innermost one on the line.
const CLI::App& command_in_use(const CLI::App& app);

/// A sentence for the error with which `app`'s parsing ended.
std::string usage_text(const CLI::App& app, const CLI::ParseError& error);

}  // namespace vostok::cli
