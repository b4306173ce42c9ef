// Which part of a product a block computes, of a product whose k is walked in blocks of 64 and may be cut in slices.
#pragma once

#include "parts/raster.h"

namespace vostok {

template <class F>
class TileWalk;

template <class F>
struct UnpackTile {
  unsigned product;  ///< of the batch
  unsigned slice;    ///< of k
  unsigned row_tile;
  unsigned column_tile;

  /// Tiles lie on the grid's x: raster_rows row tiles, then the next column tile of the same; where strips are kept,
  /// row after row. Where B stays the grid has column tiles alone. Slices of k, product after product, lie on y, and on
  /// z past what y holds.
  template <class Args>
  static __device__ UnpackTile of_block(const Args& args) {
    return of_number(args, first_number(args));
  }
  /// The tile of this number, of those on the grid's x.
  template <class Args>
  static __device__ UnpackTile of_number(const Args& args, unsigned number) {
    const unsigned slow = blockIdx.z * gridDim.y + blockIdx.y;
    constexpr unsigned slices = F::config.k_split;
    RasterPlace place;
    if constexpr (keeps_dense) place = {0, number};
    else if constexpr (keeps_strips) place = {number / args.column_tiles, number % args.column_tiles};
    else place = raster_place<F::config.raster_rows>(number, args.row_tiles, args.column_tiles);
    return {slow / slices, slow % slices, place.row_tile, place.column_tile};
  }
  /// visit(tile) for this tile, the block's first, and each further one of a persistent block, before which it enters
  /// it. One piece of code for all: a second would not fit the instruction cache.
  template <class Args, class Enter, class Visit>
  __device__ void visit_all(const Args& args, Enter enter, Visit visit) const {
    TileWalk<F> walk(args, *this);
#pragma unroll 1
    for (;;) {
      visit(walk.tile());
      if (!walk.next(args)) return;
      enter(walk.tile());
    }
  }
  /// visit(tile) for each tile of a persistent block behind its first.
  template <class Args, class Visit>
  __device__ void visit_others(const Args& args, Visit visit) const {
    TileWalk<F> walk(args, *this);
#pragma unroll 1
    while (walk.next(args)) visit(walk.tile());
  }

  /// y and z may hold more blocks than there are slices.
  template <class Args>
  __device__ bool exists(const Args& args) const {
    return product < args.batch;
  }
  /// Whether the block's next tile, if there is one, has other columns.
  template <class Args>
  __device__ bool is_last_of_columns(const Args& args) const {
    return !keeps_dense || row_tile + 1 == args.row_tiles;
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

 private:
  friend class TileWalk<F>;

  static constexpr bool keeps_strips = [] {
    if constexpr (requires { kept_blocks(F::config); }) return kept_blocks(F::config) > 0;
    else return false;
  }();
  static constexpr bool keeps_dense = [] {
    if constexpr (requires { dense_rooms(F::config); }) return dense_rooms(F::config) > 0;
    else return false;
  }();

  // Numbers of a block's tiles: neighbours where strips are kept, nearly all of one row; else every so many-th.
  template <class Args>
  static __device__ unsigned first_number(const Args& args) {
    if constexpr (keeps_strips) return share_of_tiles(args, blockIdx.x);
    else return blockIdx.x;
  }
  template <class Args>
  static __device__ unsigned end_number(const Args& args) {
    if constexpr (keeps_strips) return share_of_tiles(args, blockIdx.x + 1);
    else if constexpr (keeps_dense) return args.column_tiles;
    else return args.row_tiles * args.column_tiles;
  }
  static __device__ unsigned step() { return keeps_strips ? 1 : gridDim.x; }
  /// The tiles of so many blocks.
  template <class Args>
  static __device__ unsigned share_of_tiles(const Args& args, unsigned blocks) {
    const unsigned long long tiles = args.row_tiles * args.column_tiles;
    return static_cast<unsigned>(tiles * blocks / gridDim.x);
  }
};

/// The tiles of a block, for warps that go through them at their own pace.
template <class F>
class TileWalk {
  using Tile = UnpackTile<F>;

 public:
  template <class Args>
  __device__ TileWalk(const Args& args, const Tile& first) : tile_(first), number_(Tile::first_number(args)) {}

  __device__ const Tile& tile() const { return tile_; }
  /// Goes on to the next tile of a persistent block. Returns whether there is one.
  template <class Args>
  __device__ bool next(const Args& args) {
    if (tile_.is_last_of_columns(args)) return next_columns(args);
    ++tile_.row_tile;
    return true;
  }
  /// The same, to the next tile whose B is not that of this one where B stays.
  template <class Args>
  __device__ bool next_columns(const Args& args) {
    if constexpr (!F::config.persistent) return false;
    number_ += Tile::step();
    if (number_ >= Tile::end_number(args)) return false;
    tile_ = Tile::of_number(args, number_);
    return true;
  }

 private:
  Tile tile_;
  unsigned number_;
};

}  // namespace vostok
