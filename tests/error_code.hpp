// What a test asks of an error.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include <vostok/error.hpp>

namespace vostok::test {

/// The code of the error that `call` raises, and its message; fails the test where it raises none.
inline ErrorCode code_of(const std::function<void()>& call, std::string* message = nullptr) {
  try {
    call();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  FAIL("no error was raised");
  return ErrorCode::internal;
}

}  // namespace vostok::test
