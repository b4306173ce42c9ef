// A report as JSON in ASCII, so that no control character in a name reaches a terminal. Invalid UTF-8 (in a path, say)
// is replaced, so that a report is never lost because of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vostok::cli {

constexpr int one_line = -1;

/// `indent`: spaces for each level, or one_line.
inline std::string json_text(const nlohmann::ordered_json& value, int indent = 2) {
  return value.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace vostok::cli
