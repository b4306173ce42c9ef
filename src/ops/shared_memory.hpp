// Shared memory of a query's device, or of the GPUs that it may be meant for where it names none.
#pragma once

#include "ops/family.hpp"

namespace vostok::ops {

inline constexpr int reserved_shared_bytes = 1024;             ///< of each block, for the system
inline constexpr int shared_bytes_of_sm_90 = 228 * 1024;       ///< of a multiprocessor
inline constexpr int block_shared_bytes_of_any = 48 * 1024;    ///< what every GPU gives a block
inline constexpr int block_shared_bytes_of_sm_80 = 99 * 1024;  ///< what every GPU from sm_80 on gives a block
inline constexpr int block_shared_bytes_of_sm_90 = shared_bytes_of_sm_90 - reserved_shared_bytes;

/// What a block may have; `otherwise` where the query names no device.
inline int most_shared_bytes(const Query& query, int otherwise) { return query.device != nullptr ? query.device->max_shared_bytes() : otherwise; }

/// What the blocks of a Hopper's multiprocessor share, with what is reserved of each.
inline int shared_bytes_of_hopper(const Query& query) {
  return query.device != nullptr ? query.device->shared_bytes_per_multiprocessor() : shared_bytes_of_sm_90;
}

}  // namespace vostok::ops
