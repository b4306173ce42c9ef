// What an architecture's name says.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace vostok::device {

/// 90 of "sm_90" and "sm_90a"; nothing of what is no GPU's.
inline std::optional<int> capability_of(std::string_view architecture) {
  constexpr std::string_view prefix = "sm_";
  if (!architecture.starts_with(prefix)) return std::nullopt;
  architecture.remove_prefix(prefix.size());
  int number = 0;
  const auto parsed = std::from_chars(architecture.data(), architecture.data() + architecture.size(), number);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return number;
}

}  // namespace vostok::device
