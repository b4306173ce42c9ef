// Where functions of the C interface begin and end: nothing is thrown across it, and this thread's last failure has a
// sentence.
#pragma once

#include <string>
#include <utility>

#include <vostok/vostok.h>

namespace vostok::c {

/// Notes the exception that is being handled as this thread's last failure. Call it from a handler.
vostok_status note_failure() noexcept;

/// `body()` of a function that returns a status.
template <class Body>
vostok_status guarded(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return VOSTOK_OK;
  } catch (...) {
    return note_failure();
  }
}

/// `body()` of a function that returns a value; `otherwise` where it fails, which the last failure then tells of.
template <class Value, class Body>
Value guarded_value(Value otherwise, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    note_failure();
    return otherwise;
  }
}

/// A text that the caller borrows: it stays until this thread's next call that returns one.
const char* lend(std::string text);

/// `body()` makes a text that the caller borrows; null where it fails.
template <class Body>
const char* guarded_text(Body&& body) noexcept {
  return guarded_value<const char*>(nullptr, [&] { return lend(std::forward<Body>(body)()); });
}

/// Null arguments are invalid_argument. `argument` is the argument's name.
[[noreturn]] void fail_null(const char* argument);

template <class T>
T& required(T* given, const char* argument) {
  if (given == nullptr) [[unlikely]]
    fail_null(argument);
  return *given;
}

}  // namespace vostok::c
