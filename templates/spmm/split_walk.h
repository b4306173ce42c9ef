// The units of B that a warp of unpack_wgmma splits (spmm/unpack_wgmma_split.h), one after the other.
#pragma once

#include "parts/ring_place.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// The units of one warp, k block after k block, tile after tile of a persistent block: which they are, and where in
/// the ring.
template <class F>
class SplitWalk {
  static constexpr unsigned units = F::config.tile_columns / split_unit_columns(F::config);
  static constexpr unsigned warps = F::config.producer_warps;
  using Place = DensePlace<F>;

 public:
  /// `warp`: of the producing ones.
  template <class Args>
  __device__ SplitWalk(const Args& args, const UnpackTile<F>& tile, unsigned warp)
      : tiles_(args, tile),
        count_(tile.block_count(args)),
        place_{warp / units % dense_stages(F::config), 0},
        block_(warp / units),
        unit_(warp % units) {}

  __device__ const UnpackTile<F>& tile() const { return tiles_.tile(); }
  /// k blocks of a tile.
  __device__ unsigned count() const { return count_; }
  __device__ unsigned block() const { return block_; }
  __device__ unsigned unit() const { return unit_; }
  __device__ const Place& place() const { return place_; }
  __device__ void advance() {
    if constexpr (units <= warps) {
      move(split_block_step(F::config));
    } else {
      unit_ += warps;
      if (unit_ < units) return;
      unit_ -= units;
      move(1);
    }
  }

  /// Whether the tile has no such k block.
  __device__ bool is_past() const { return block_ >= count_; }
  /// Then goes on to the block's next tile that has one. Returns whether there is one.
  template <class Args>
  __device__ bool enter_next(const Args& args) {
    do {
      if (!tiles_.next_columns(args)) return false;
      block_ -= count_;
    } while (is_past());
    return true;
  }

 private:
  __device__ void move(unsigned blocks) {
    block_ += blocks;
    place_.advance(blocks);
  }

  TileWalk<F> tiles_;
  unsigned count_;
  Place place_;
  unsigned block_;
  unsigned unit_;
};

}  // namespace vostok
