// Parses the name of an architecture.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace vostok::device {

struct ArchitectureName {
  int capability = 0;            ///< 90 of "sm_90" and "sm_90a"
  std::string_view suffix = {};  ///< "a" of "sm_90a"; a view into the parsed text
};

/// Nothing if the name is not a GPU's.
inline std::optional<ArchitectureName> parse_architecture(std::string_view text) {
  constexpr std::string_view prefix = "sm_";
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  ArchitectureName name;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), name.capability);
  if (error != std::errc()) return std::nullopt;
  name.suffix = text.substr(static_cast<std::size_t>(rest - text.data()));
  return name;
}

}  // namespace vostok::device
