// Shared memory of a query's device, or of the GPUs it may be planned for if it names none.
#pragma once

#include "ops/family.hpp"

namespace vostok::ops {

inline constexpr int reserved_shared_bytes = 1024;             ///< reserved by the system for each block
inline constexpr int shared_bytes_of_sm_90 = 228 * 1024;       ///< of an SM
inline constexpr int block_shared_bytes_of_any = 48 * 1024;    ///< available to a block on every GPU
inline constexpr int block_shared_bytes_of_sm_80 = 99 * 1024;  ///< available to a block on every GPU from sm_80 on
inline constexpr int block_shared_bytes_of_sm_90 = shared_bytes_of_sm_90 - reserved_shared_bytes;

/// The most shared memory of a block; `otherwise` if the query names no device.
inline int most_shared_bytes(const Query& query, int otherwise) { return query.device != nullptr ? query.device->max_shared_bytes() : otherwise; }

/// Shared memory of a Hopper SM, including what is reserved of each block.
inline int shared_bytes_of_hopper(const Query& query) {
  return query.device != nullptr ? query.device->shared_bytes_per_multiprocessor() : shared_bytes_of_sm_90;
}

}  // namespace vostok::ops
