#include "cli/usage_error.hpp"

#include <CLI/CLI.hpp>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/enum_option.hpp"

namespace vostok::cli {

namespace {

/// Arguments that no command or option took, in their order.
std::vector<std::string> unexpected_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* current = &app;;) {
    for (const std::string& word : current->remaining()) words.push_back(word);
    if (current->get_subcommands().empty()) return words;
    current = current->get_subcommands().front();
  }
}

std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return join(names);
}

std::string unexpected_text(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = command_in_use(app);
  const std::string commands = command_names(command);
  if (!commands.empty() && !words.front().starts_with('-'))
    return fmt::format("'{}' is no command of {}; there are {}", words.front(), command.get_name(), commands);
  std::string text;
  for (const std::string& word : words) text += " " + word;
  return fmt::format("{} not expected:{}", words.size() == 1 ? "this argument was" : "these arguments were", text);
}

/// Names a missing option by its name, a positional argument by its placeholder in the help.
std::string missing_text(const CLI::App& app, const std::string& sentence) {
  const std::string name = sentence.substr(0, sentence.find(' '));
  const CLI::Option* const option = command_in_use(app).get_option_no_throw(name);
  if (option == nullptr) {
    const std::string commands = command_names(command_in_use(app));
    return commands.empty() ? sentence : "a command is required: " + commands;
  }
  return fmt::format("{} is required: {}",
                     option->get_positional() ? option->get_type_name() : name + " " + option->get_type_name(),
                     option->get_description());
}

/// Too many values, or none: CLI11's own sentence begins with "--n: ...".
std::string mismatch_text(const CLI::App& app, const std::string& sentence) {
  const std::string name = sentence.substr(0, sentence.find(':'));
  const CLI::Option* const option = command_in_use(app).get_option_no_throw(name);
  if (option == nullptr) return sentence;
  if (option->count() > 1) return fmt::format("{} was given {} times, and takes one value", name, option->count());
  return fmt::format("{} needs a value: {}", name, option->get_type_name());
}

/// "Could not convert: --json = maybe": options with values convert by themselves (cli/number_option.hpp).
std::string conversion_text(const std::string& sentence) {
  const std::size_t name = sentence.find("--");
  const std::size_t equals = sentence.find(" = ");
  if (name == std::string::npos || equals == std::string::npos || equals < name) return sentence;
  return fmt::format("{} takes no value, and was given '{}'", sentence.substr(name, equals - name),
                     sentence.substr(equals + 3));
}

}  // namespace

const CLI::App& command_in_use(const CLI::App& app) {
  const CLI::App* current = &app;
  while (!current->get_subcommands().empty()) current = current->get_subcommands().front();
  return *current;
}

std::string usage_text(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unexpected = unexpected_words(app);
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  // A misspelt argument also makes the intended one missing.
  if ((is_missing || is_extra) && !unexpected.empty()) return unexpected_text(app, unexpected);
  if (is_missing) return missing_text(app, error.what());
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return mismatch_text(app, error.what());
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return conversion_text(error.what());
  return error.what();
}

}  // namespace vostok::cli
