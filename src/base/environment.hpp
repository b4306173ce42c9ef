// The one place that reads environment variables.
#pragma once

#include <optional>
#include <string>

namespace vostok {

/// The variable's value; absent where unset or empty.
std::optional<std::string> environment(const char* variable);

/// Whether the program has more privileges than who started it (set-user-ID, set-group-ID or capabilities of its file:
/// AT_SECURE).
bool privileges_are_raised();

/// For variables that name code, or files and folders that code is taken from: as `environment`, but absent where
/// privileges are raised, since whoever started the program would choose what runs with them.
std::optional<std::string> trusted_environment(const char* variable, bool raised = privileges_are_raised());

}  // namespace vostok
