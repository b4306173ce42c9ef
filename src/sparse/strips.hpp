// Rows cut into strips (SC20 paper, section VI): the unit of work of kernels that are launched by nonzeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <abi/strip.h>

namespace vostok::sparse {

/// Every nonzero once, in CSR order: each row in strips of `strip_entries`, its last one shorter. Empty rows have none.
/// `row_offsets` must be valid and `strip_entries` positive. Errors: unsupported (2^31 rows or nonzeros and more).
std::vector<Strip> strips(std::span<const std::int64_t> row_offsets, int strip_entries);

}  // namespace vostok::sparse
