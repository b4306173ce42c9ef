// Arrays of indices as users give them: in either memory, in 16, 32 or 64 bits.
#pragma once

#include <cstdint>
#include <vector>

#include <vostok/topology.hpp>

#include "ops/topology/queue.hpp"

namespace vostok::plan {

IndexArray array_of(const void* data, IntegerType type);

/// `count` values from `first` on, of an array in host memory.
std::vector<std::int64_t> widen(const IndexArray& array, std::int64_t first, std::int64_t count);

/// As widen, for an array in device memory. Waits for the library's own stream.
std::vector<std::int64_t> read_indices(device::Device& device, const IndexArray& array, std::int64_t first,
                                       std::int64_t count);

/// Copies a host array to device memory and makes `array` point there.
ops::QueuedMemory upload_indices(const ops::Queue& queue, IndexArray& array, std::int64_t count);

/// Columns in host memory as 32-bit numbers; throws for one that is out of range. The offsets must be valid.
std::vector<std::int32_t> checked_columns(const IndexArray& array, const std::vector<std::int64_t>& row_offsets,
                                          std::int64_t cols);

}  // namespace vostok::plan
