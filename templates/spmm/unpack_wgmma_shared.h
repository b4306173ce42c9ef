// The shared memory of unpack_wgmma: a ring of stages, and which part of the product the block computes.
#pragma once

#include "abi/unpack_wgmma.h"
#include "parts/mbarrier.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/shared_address.h"

namespace vostok {

template <class F>
struct UnpackWgmmaMemory {
  alignas(1024) unsigned char bytes[(shared_bytes(F::traits, F::config) + 1023) / 1024 * 1024];
};

/// Addresses of the parts of each stage: B, its scales, strips, and the barriers that say that a stage is full, or empty again.
template <class F>
class UnpackWgmmaStages {
  static constexpr auto config = F::config;
  static constexpr unsigned dense_bytes = dense_stage_bytes(F::traits, config);
  static constexpr unsigned scale_bytes = column_scale_bytes(config);
  static constexpr unsigned strip_bytes = strip_stage_bytes(config);
  static constexpr unsigned scales_begin = config.stages * dense_bytes;
  static constexpr unsigned strips_begin = scales_begin + config.stages * scale_bytes;
  static constexpr unsigned barriers_begin = strips_begin + config.stages * strip_bytes;
  static_assert(dense_bytes % 1024 == 0, "swizzled lines repeat every 1024 bytes");
  static_assert(barriers_begin + config.stages * 2 * barrier_bytes == shared_bytes(F::traits, config), "shared_bytes differs from the layout");

 public:
  __device__ UnpackWgmmaStages() : base_(shared_address(dynamic_shared<UnpackWgmmaMemory<F>>().bytes).at) {}

  __device__ unsigned dense(unsigned stage) const { return base_ + stage * dense_bytes; }
  __device__ unsigned scales(unsigned stage) const { return base_ + scales_begin + stage * scale_bytes; }
  __device__ unsigned strips(unsigned stage) const { return base_ + strips_begin + stage * strip_bytes; }
  __device__ unsigned full(unsigned stage) const { return base_ + barriers_begin + stage * 2 * barrier_bytes; }
  __device__ unsigned empty(unsigned stage) const { return full(stage) + barrier_bytes; }

 private:
  unsigned base_;
};

template <class F>
struct UnpackWgmmaTile {
  unsigned product;  ///< of the batch
  unsigned slice;    ///< of k
  unsigned row_tile;
  unsigned column_tile;

  /// Tiles lie on the grid's x: raster_rows row tiles, then the next column tile of the same. Slices of k, product after
  /// product, lie on y, and on z past what y holds.
  static __device__ UnpackWgmmaTile of_block(const UnpackWgmmaArgs& args) {
    const unsigned slow = blockIdx.z * gridDim.y + blockIdx.y;
    constexpr unsigned slices = F::config.k_split;
    constexpr unsigned raster_rows = F::config.raster_rows;
    const unsigned group = blockIdx.x / (raster_rows * args.column_tiles);
    const unsigned within = blockIdx.x - group * raster_rows * args.column_tiles;
    const unsigned left = args.row_tiles - group * raster_rows;
    const unsigned height = left < raster_rows ? left : raster_rows;
    return {slow / slices, slow % slices, group * raster_rows + within % height, within / height};
  }

  /// y and z may hold more blocks than there are slices.
  __device__ bool exists(const UnpackWgmmaArgs& args) const { return product < args.batch; }

  __device__ unsigned first_strip() const { return row_tile * tile_strips(F::config); }
  __device__ long long first_column() const { return static_cast<long long>(column_tile) * F::config.tile_columns; }
  __device__ unsigned first_block(const UnpackWgmmaArgs& args) const { return slice * args.slice_blocks; }
  /// k blocks of the slice: none where the slices before it took them all.
  __device__ unsigned block_count(const UnpackWgmmaArgs& args) const {
    const unsigned first = first_block(args);
    if (first >= args.strips.k_blocks) return 0;
    const unsigned left = args.strips.k_blocks - first;
    return left < args.slice_blocks ? left : args.slice_blocks;
  }
};

}  // namespace vostok
