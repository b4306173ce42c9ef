#pragma once

namespace vostok {

/// Set by CMake from the project's version.
inline constexpr const char* library_version = VOSTOK_VERSION;

}  // namespace vostok
