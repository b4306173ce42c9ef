// Where calls of the public face begin and end: what leaves them is an Error, or an exception of the user's own.
#pragma once

#include <utility>

namespace vostok {

/// Throws the exception that is being handled: one of the standard library's (no memory, a size past what containers
/// hold, a failed system call) as an Error that says "cannot <verb> <object>", any other as it is. Call it from a
/// handler.
[[noreturn]] void rethrow_as_error(const char* verb, const char* object);

/// `body()` of a public call; where it fails, what cannot be done is <verb> <object>: "plan", "SpMM". Costs nothing
/// where it does not fail.
template <class Body>
decltype(auto) at_boundary(const char* verb, const char* object, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    rethrow_as_error(verb, object);
  }
}

}  // namespace vostok
