// Row swizzle (SC20 paper, section V-C): the order in which rows are given to the device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vostok::sparse {

/// Row numbers by row length, longest first; rows of one length keep their order. `row_offsets` must be valid.
/// A radix sort: linear in the rows for any lengths. Errors: unsupported (2^31 rows or more).
std::vector<std::int32_t> row_order(std::span<const std::int64_t> row_offsets);

}  // namespace vostok::sparse
