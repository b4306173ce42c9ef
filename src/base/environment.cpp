#include "base/environment.hpp"

#include <cstdlib>

namespace vostok {

std::optional<std::string> environment(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

}  // namespace vostok
