#include "base/environment.hpp"

#include <sys/auxv.h>

#include <cstdlib>

namespace vostok {

std::optional<std::string> environment(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

bool privileges_are_raised() { return getauxval(AT_SECURE) != 0; }

std::optional<std::string> trusted_environment(const char* variable, bool raised) {
  return raised ? std::nullopt : environment(variable);
}

}  // namespace vostok
