// Enumerations as option values, by their names in the API.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace vostok::cli {

/// Every enumerator's name: `name(value)` is nullptr one past the last.
template <class Enum>
std::vector<std::string> enum_names() {
  std::vector<std::string> names;
  for (int value = 0; name(static_cast<Enum>(value)) != nullptr; ++value)
    names.emplace_back(name(static_cast<Enum>(value)));
  return names;
}

/// "a, b, c"
inline std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// False if no enumerator has this name.
template <class Enum>
bool parse_enum(const std::string& text, Enum& value) {
  const std::vector<std::string> names = enum_names<Enum>();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != text) continue;
    value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

/// The enumerator of this name; otherwise CLI::ValidationError lists all names.
template <class Enum>
Enum enum_value(const char* option, const std::string& text) {
  Enum value{};
  if (!parse_enum(text, value))
    throw CLI::ValidationError(option, fmt::format("'{}' is not one of {}", text, join(enum_names<Enum>())));
  return value;
}

/// Adds an option whose value is the name of an enumerator. An enumerator that this version of the library does not
/// support is accepted here; the library refuses it by name.
template <class Enum>
CLI::Option* add_enum_option(CLI::App& app, const char* option, Enum& value, const std::string& description) {
  const auto take = [&value, option](const std::string& text) { value = enum_value<Enum>(option, text); };
  return app.add_option_function<std::string>(option, take, description)
      ->type_name("NAME")
      ->default_str(name(value))
      ->run_callback_for_default(false);
}

/// As above, for a value that may be left to the library.
template <class Enum>
CLI::Option* add_enum_option(CLI::App& app, const char* option, std::optional<Enum>& value,
                             const std::string& description) {
  const auto take = [&value, option](const std::string& text) { value = enum_value<Enum>(option, text); };
  return app.add_option_function<std::string>(option, take, description)->type_name("NAME");
}

}  // namespace vostok::cli
