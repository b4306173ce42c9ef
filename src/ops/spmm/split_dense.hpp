// A launch that cuts B into tiles for the tensor cores (abi/split_dense.h), in the workspace.
#pragma once

#include <cstdint>

#include <abi/split_dense.h>

#include "ops/spmm/problem.hpp"

namespace vostok::ops {

struct SplitDense {
  PackedMode mode = PackedMode::f16x3;
  int tile_columns = 64;
  int scale_blocks = 1;                 ///< k blocks that share one scale for each column
  std::int64_t tiles_offset_bytes = 0;  ///< offset of the tiles in the workspace, a multiple of 256
  std::int64_t scales_offset_bytes = 0;
};

/// Why B cannot be cut this way; nothing if it can.
std::optional<std::string> split_dense_declined(const SpmmQuery& query, const SplitDense& what);

/// Bytes of the tiles of the whole batch, and of their columns' scales, for the largest n. Multiples of 256.
std::int64_t split_tiles_bytes(const SpmmQuery& query, PackedMode mode, int tile_columns);
std::int64_t split_scales_bytes(const SpmmQuery& query, PackedMode mode, int tile_columns);

/// The launch that cuts B: first in a plan, or second after the packing of A.
Launch split_dense_launch(const SpmmQuery& query, const SplitDense& what);

}  // namespace vostok::ops
