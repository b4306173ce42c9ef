#pragma once

#include <chrono>
#include <cstdint>

namespace vostok {

constexpr std::int64_t day_seconds = std::int64_t{24} * 60 * 60;

/// Seconds since 1970, as records keep them.
inline std::int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace vostok
