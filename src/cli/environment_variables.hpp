// Every environment variable that the library reads, for `vostok doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vostok::cli {

struct EnvironmentVariable {
  const char* name;
  const char* meaning;
  std::optional<std::string> value = {};  ///< absent if unset or empty
};

/// All variables, with their values in this process.
std::vector<EnvironmentVariable> environment_variables();

}  // namespace vostok::cli
