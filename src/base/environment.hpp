// The one place that reads environment variables.
#pragma once

#include <optional>
#include <string>

namespace vostok {

/// The variable's value; absent where unset or empty.
std::optional<std::string> environment(const char* variable);

}  // namespace vostok
