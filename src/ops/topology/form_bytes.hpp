// A limit on the memory of forms that have room for more than the nonzeros.
#pragma once

#include <cstdint>

namespace vostok::ops {

/// Whether `bytes` is too much for so many nonzeros: a form may take 64 MiB in any case, and `per_nonzero` bytes for
/// each.
inline bool is_mostly_room(std::int64_t bytes, std::int64_t nonzeros, std::int64_t per_nonzero) {
  constexpr std::int64_t free_bytes = std::int64_t{64} << 20;
  return bytes > free_bytes && bytes - free_bytes > per_nonzero * nonzeros;
}

}  // namespace vostok::ops
