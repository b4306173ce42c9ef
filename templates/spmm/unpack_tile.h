// Which part of a product a block computes, of a product whose k is walked in blocks of 64 and may be cut in slices.
#pragma once

#include "parts/raster.h"

namespace vostok {

template <class F>
struct UnpackTile {
  unsigned product;  ///< of the batch
  unsigned slice;    ///< of k
  unsigned row_tile;
  unsigned column_tile;

  /// Tiles lie on the grid's x: raster_rows row tiles, then the next column tile of the same. Slices of k, product
  /// after product, lie on y, and on z past what y holds.
  template <class Args>
  static __device__ UnpackTile of_block(const Args& args) {
    const unsigned slow = blockIdx.z * gridDim.y + blockIdx.y;
    constexpr unsigned slices = F::config.k_split;
    const RasterPlace place = raster_place<F::config.raster_rows>(blockIdx.x, args.row_tiles, args.column_tiles);
    return {slow / slices, slow % slices, place.row_tile, place.column_tile};
  }

  /// y and z may hold more blocks than there are slices.
  template <class Args>
  __device__ bool exists(const Args& args) const {
    return product < args.batch;
  }

  __device__ unsigned first_strip() const { return row_tile * tile_strips(F::config); }
  __device__ long long first_column() const { return static_cast<long long>(column_tile) * tile_columns(F::config); }
  template <class Args>
  __device__ unsigned first_block(const Args& args) const {
    return slice * args.slice_blocks;
  }
  /// k blocks of the slice: none where the slices before it took them all.
  template <class Args>
  __device__ unsigned block_count(const Args& args) const {
    const unsigned first = first_block(args);
    if (first >= args.strips.k_blocks) return 0;
    const unsigned left = args.strips.k_blocks - first;
    return left < args.slice_blocks ? left : args.slice_blocks;
  }
};

}  // namespace vostok
