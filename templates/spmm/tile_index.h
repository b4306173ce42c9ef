// Which part of C a block computes.
#pragma once

#include "abi/csr_product.h"

namespace vostok {

/// The block's tile. The tile index that varies slowly lies on y, and on z past 65535, product after product of a
/// batch.
template <class F>
struct TileIndex {
  unsigned product;
  unsigned row_tile;
  long long column_tile;

  static __device__ TileIndex of_block(const CsrProductArgs& args) {
    unsigned slow = blockIdx.z * gridDim.y + blockIdx.y;
    unsigned product = 0;
    if constexpr (F::traits.batched) {
      product = slow / args.slow_tiles;
      slow -= product * args.slow_tiles;
    }
    if constexpr (F::config.raster == Raster::rows_first) return {product, blockIdx.x, slow};
    else return {product, slow, blockIdx.x};
  }

  /// y and z may hold more blocks than there are tiles. A row tile has `tile_rows` of `rows` rows, or of what stands
  /// for them.
  __device__ bool exists(const CsrProductArgs& args, unsigned tile_rows, unsigned rows) const {
    if (F::traits.batched && product >= args.batch) return false;
    if constexpr (F::config.raster == Raster::rows_first) return column_tile * F::config.tile_columns < args.n;
    else return static_cast<unsigned long long>(row_tile) * tile_rows < rows;
  }

  /// The first of a lane's columns.
  __device__ long long first_column(unsigned lane) const {
    return column_tile * F::config.tile_columns + lane % F::config.threads_per_row * F::config.dense_vector;
  }
};

}  // namespace vostok
