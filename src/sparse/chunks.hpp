// A matrix in equal shares: the unit of work of kernels that balance rows of any length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <abi/chunk_start.h>

namespace vostok::sparse {

/// The start of each chunk, and the end behind them. After Merrill and Garland, "Merge-based Parallel Sparse
/// Matrix-Vector Multiplication" (SC16), whose shares count nonzeros and rows alike; short rows stay whole here.
/// `row_offsets` must be valid and `chunk_items` positive. Errors: unsupported (2^31 rows and nonzeros and more).
std::vector<ChunkStart> chunk_starts(std::span<const std::int64_t> row_offsets, int chunk_items);

}  // namespace vostok::sparse
