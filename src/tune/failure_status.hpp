// What a trial's failure says of the code.
#pragma once

#include <exception>

#include <vostok/error.hpp>

namespace vostok::tune {

/// The status of a candidate whose trial ended with `error`: `of_code`, but "untested" where memory ran out, which others may hold now. That is
/// no reason to ban the code, nor never to try it again.
inline const char* failure_status(const std::exception& error, const char* of_code) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return known != nullptr && known->code() == ErrorCode::out_of_memory ? "untested" : of_code;
}

}  // namespace vostok::tune
