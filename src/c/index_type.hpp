// Indices that the library writes: int32 or int64, as the caller says in bytes.
#pragma once

#include <cstdint>

#include "base/text.hpp"

namespace vostok::c {

/// Calls `body` with a number of the type. Errors: invalid_argument.
template <class Body>
void with_index_type(std::int32_t index_bytes, const Body& body) {
  switch (index_bytes) {
    case sizeof(std::int32_t): return body(std::int32_t{});
    case sizeof(std::int64_t): return body(std::int64_t{});
    default:
      fail(ErrorCode::invalid_argument, "cannot write indices: index_bytes = {} is neither 4 nor 8", index_bytes);
  }
}

}  // namespace vostok::c
