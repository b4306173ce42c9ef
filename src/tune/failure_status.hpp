// What a failed trial says about the code.
#pragma once

#include <exception>
#include <new>
#include <system_error>

#include <vostok/error.hpp>

namespace vostok::tune {

/// Whether the machine lacks something that it may have later: memory, threads, descriptors.
inline bool is_of_machine(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error))
    return known->code() == ErrorCode::out_of_memory || known->code() == ErrorCode::io_failure;
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
         dynamic_cast<const std::system_error*>(&error) != nullptr;
}

/// The status of a candidate whose trial ended with `error`: `of_code`, or "untested" if the machine lacked something
/// that others may hold. That is no reason to ban the code, or never to try it again.
inline const char* failure_status(const std::exception& error, const char* of_code) {
  return is_of_machine(error) ? "untested" : of_code;
}

}  // namespace vostok::tune
