// Text: fmt behind one include, and the library's error helper.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include <vostok/error.hpp>

namespace vostok {

/// Throws Error(code) with a formatted message: fail(ErrorCode::unsupported, "cannot plan SpMM: batch = {}", b).
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(code, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace vostok
