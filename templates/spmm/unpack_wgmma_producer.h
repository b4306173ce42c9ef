// The warps of unpack_wgmma that copy: strips of A and a tile of B, k block after k block, into a ring of stages.
#pragma once

#include "parts/async_copy.h"
#include "parts/bulk_copy.h"
#include "parts/dependent_launch.h"
#include "parts/tensor_copy.h"
#include "spmm/strip_copies.h"
#include "spmm/unpack_wgmma_shared.h"
#include "spmm/unpack_wgmma_split_producer.h"

namespace vostok {

/// B as split_dense left it: whole planes, and the columns' scales.
template <class F>
class PreparedTiles {
  static constexpr auto config = F::config;
  static constexpr bool scaled = packed_scales_rows(config.mode);
  static constexpr int columns = prepared_columns(config);
  static constexpr unsigned group_bytes = dense_group_bytes(config);

 public:
  static constexpr unsigned bytes = dense_stage_bytes(F::traits, config) + column_scale_bytes(config);

  __device__ PreparedTiles(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile)
      : k_blocks_(args.strips.k_blocks),
        last_group_(args.prepared_tiles - 1),
        group_(static_cast<unsigned>(tile.first_column() / columns)),
        scale_step_(static_cast<long long>(args.prepared_tiles) * columns) {
    const long long first_block = tile.first_block(args);
    tiles_ = static_cast<const unsigned char*>(args.dense) +
             (static_cast<long long>(tile.product) * args.prepared_tiles * k_blocks_ + first_block) * group_bytes;
    if constexpr (scaled)
      scales_ = args.column_scales + (static_cast<long long>(tile.product) * k_blocks_ + first_block) * scale_step_ +
                tile.first_column();
  }

  /// Copies k block `i`. Tiles that lie wholly past n do not exist: the last one stands in for them.
  __device__ void copy(const UnpackWgmmaStages<F>& stages, unsigned stage, unsigned i) const {
#pragma unroll
    for (unsigned g = 0; g < dense_groups(config); ++g) {
      const unsigned group = group_ + g < last_group_ ? group_ + g : last_group_;
      copy_bulk(stages.dense(stage) + g * group_bytes,
                tiles_ + (static_cast<long long>(group) * k_blocks_ + i) * group_bytes, group_bytes,
                stages.full(stage));
    }
    if constexpr (scaled) copy_scales(stages, stage, scales_ + i * scale_step_);
  }

 private:
  /// Scales past the last tile do not exist either; nothing is made of those that come in their place.
  __device__ void copy_scales(const UnpackWgmmaStages<F>& stages, unsigned stage, const float* from) const {
    constexpr unsigned part = config.tile_columns < columns ? config.tile_columns : columns;
#pragma unroll
    for (unsigned g = 0; g < dense_groups(config); ++g) {
      const long long back = group_ + g > last_group_ ? static_cast<long long>(group_ + g - last_group_) * columns : 0;
      copy_bulk(stages.scales(stage) + g * part * 4, from + g * part - back, part * 4, stages.full(stage));
    }
  }

  const unsigned char* tiles_;
  const float* scales_ = nullptr;
  unsigned k_blocks_;
  unsigned last_group_;
  unsigned group_;
  long long scale_step_;
};

/// B of 16-bit elements from where it lies: lines of 128 bytes at most, 16 bytes a copy, zeros where the matrix ends.
/// All copies of a thread have the same place in their lines: k block after k block, addresses only grow.
template <class F>
class DirectLines {
  static constexpr auto config = F::config;
  static constexpr bool along_k = lines_along_k(F::traits, config);
  static constexpr unsigned chunk = 8;  ///< elements
  static constexpr unsigned lines = along_k ? config.tile_columns : packed_strip_columns();
  static constexpr unsigned chunks =
      (along_k ? packed_strip_columns() : config.tile_columns) / chunk;  ///< of a line of the tile
  static constexpr unsigned line_step = 32 * config.producer_warps / chunks;
  static constexpr unsigned copies = (lines + line_step - 1) / line_step;
  static_assert(32 * config.producer_warps % chunks == 0, "threads take whole lines");

 public:
  template <class Args, class Tile>
  __device__ DirectLines(const Args& args, const Tile& tile, unsigned thread)
      : dense_(static_cast<const unsigned short*>(args.dense) + tile.product * args.dense_stride),
        line_(thread / chunks) {
    const unsigned place = thread % chunks;
    const long long k = static_cast<long long>(tile.first_block(args)) * packed_strip_columns();
    const long long column = tile.first_column();
    lines_left_ = along_k ? args.n - column : args.k - k;
    length_left_ = (along_k ? args.k - k : args.n - column) - place * chunk;
    from_ = dense_ + (along_k ? column * args.dense_leading + k : k * args.dense_leading + column) +
            line_ * args.dense_leading + place * chunk;
    step_ = line_step * args.dense_leading;
    block_step_ = along_k ? packed_strip_columns() : packed_strip_columns() * args.dense_leading;
    to_ = place / 8 * split_plane_bytes() + line_ * split_line_bytes();
    place_ = place % 8;
  }

  /// Copies the next k block.
  __device__ void copy(unsigned stage_dense) {
    const unsigned short* from = from_;
    const int valid = length_left_ >= chunk ? 16 : length_left_ > 0 ? static_cast<int>(length_left_) * 2 : 0;
    // Not all at once: their addresses would not fit the registers that a copying thread keeps.
#pragma unroll 4
    for (unsigned i = 0; i < copies; ++i) {
      const unsigned line = line_ + i * line_step;
      if (lines % line_step != 0 && line >= lines) break;
      const bool inside = line < lines_left_ && valid > 0;
      copy_async_at(stage_dense + to_ + i * line_step * split_line_bytes() + (place_ ^ (line % 8)) * 16,
                    inside ? from : dense_, inside ? valid : 0);
      from += step_;
    }
    from_ += block_step_;
    (along_k ? length_left_ : lines_left_) -= packed_strip_columns();
  }

 private:
  const unsigned short* dense_;
  const unsigned short* from_;  ///< the thread's first element of the next k block
  long long step_;              ///< between its lines, in elements
  long long block_step_;        ///< between k blocks
  long long lines_left_;        ///< of the matrix, from the tile's first in the next k block
  long long length_left_;       ///< of those lines, from the thread's place on
  unsigned line_;               ///< the thread's first
  unsigned place_;              ///< its chunk in a line of 128 bytes
  unsigned to_;                 ///< where that line lies in a stage
};

/// B of 16-bit elements from where it lies, by a tensor map: a box for each plane of 64 columns, or one of all lines of
/// k.
template <class F>
class TensorTiles {
  static constexpr auto config = F::config;
  static constexpr bool along_k = lines_along_k(F::traits, config);
  static constexpr unsigned boxes = along_k || config.tile_columns < 64 ? 1 : config.tile_columns / 64;

 public:
  static constexpr unsigned bytes = dense_stage_bytes(F::traits, config);

  template <class Args, class Tile>
  __device__ TensorTiles(const Args& args, const Tile& tile)
      : map_(args.dense_map),
        product_(static_cast<int>(tile.product)),
        column_(static_cast<int>(tile.first_column())),
        k_(static_cast<int>(tile.first_block(args)) * packed_strip_columns()) {}

  /// Copies k block `i`.
  template <class Stages>
  __device__ void copy(const Stages& stages, unsigned stage, unsigned i) const {
    const unsigned stage_dense = stages.dense(stage), barrier = stages.full(stage);
    const int k = k_ + static_cast<int>(i) * packed_strip_columns();
#pragma unroll
    for (unsigned box = 0; box < boxes; ++box) {
      const int column = column_ + static_cast<int>(box) * 64;
      copy_box(stage_dense + box * (bytes / boxes), map_, along_k ? k : column, along_k ? column : k, product_,
               barrier);
    }
  }

 private:
  const TensorMap& map_;
  int product_;
  int column_;  ///< the tile's first
  int k_;       ///< the first k block's first
};

/// Threads that split a k block of B.
constexpr unsigned splitting_lanes(const UnpackWgmmaConfig& config) {
  return 32 * config.tile_columns / split_unit_columns(config);
}
/// Arrivals that fill a stage, beside the bytes: the strips' with everything that the copy engine brings, and those of
/// threads that bring B.
template <class Config>
constexpr unsigned filling_arrivals(const Config& config) {
  return 1 + (copies_by_threads(config) ? 32 * static_cast<unsigned>(config.producer_warps) : 0);
}
constexpr unsigned filling_arrivals(const UnpackWgmmaConfig& config) {
  if (splits_dense(config) && !keeps_dense(config)) return 1 + splitting_lanes(config);
  return filling_arrivals<UnpackWgmmaConfig>(config);
}

/// Strips of the first stages, all at once, for where they lie is looked up: by a warp, a lane for each. They do not
/// depend on the launch before.
template <class F, class Args>
__device__ inline void copy_first_strips(const Args& args, const UnpackTile<F>& tile,
                                         const UnpackWgmmaStages<F>& stages, unsigned more_bytes) {
  const unsigned lane = threadIdx.x % 32;
  if (lane >= F::config.stages || lane >= tile.block_count(args)) return;
  StripCopies<F> strips(packed_set(args.strips, tile.product), tile.first_block(args) + lane, tile.first_strip(), 1);
  strips.copy(stages.strips(lane), stages.full(lane), more_bytes);
}

/// Where threads bring B, which takes them longest, they begin with that: the first strips are copied by the first of
/// the warps that multiply.
template <class F, class Args>
__device__ inline void copy_first_strips_beside(const Args& args, const UnpackTile<F>& tile,
                                                const UnpackWgmmaStages<F>& stages, unsigned warp) {
  if (filling_arrivals(F::config) > 1 && warp == 0) copy_first_strips<F>(args, tile, stages, 0);
}

/// The k blocks of a tile from `first` on by the copy engine, into the ring from `place` on. By one thread.
template <class F, class Dense>
__device__ inline void copy_blocks(const UnpackWgmmaStages<F>& stages, RingPlace<F::config.stages>& place,
                                   StripCopies<F>& strips, const Dense& dense, unsigned first, unsigned count) {
#pragma unroll 1
  for (unsigned i = first; i < count; ++i) {
    wait_empty(stages, place);
    strips.copy(stages.strips(place.stage), stages.full(place.stage), Dense::bytes);
    dense.copy(stages, place.stage, i);
    place.advance();
  }
}

/// The k blocks of a block's tiles where strips are kept: those of a row tile come once. By one thread.
template <class F, class Dense, class Args>
__device__ inline void produce_beside_kept(const Args& args, const UnpackTile<F>& first,
                                           const UnpackWgmmaStages<F>& stages) {
  constexpr unsigned count = kept_blocks(F::config);
  const auto copy_strips = [&](const UnpackTile<F>& tile) {
    StripCopies<F> strips(packed_set(args.strips, tile.product), 0, tile.first_strip(), count);
#pragma unroll 1
    for (unsigned i = 0; i < count; ++i) strips.copy(stages.strips(i), stages.kept_full(), 0);
  };
  copy_strips(first);
  wait_for_previous_launch();
  RingPlace<F::config.stages> place{0, 0};
  unsigned rows = first.row_tile;
  unsigned parity = 0;
  const auto ignore = [](const UnpackTile<F>&) {};
  first.visit_all(args, ignore, [&](const UnpackTile<F>& tile) {
    if (tile.row_tile != rows) {
      rows = tile.row_tile;
      wait_barrier(stages.kept_empty(), parity);
      parity ^= 1;
      copy_strips(tile);
    }
    const Dense dense(args, tile);
#pragma unroll 1
    for (unsigned i = 0; i < count; ++i, place.advance()) {
      wait_empty(stages, place);
      arrive_expecting(stages.full(place.stage), Dense::bytes);
      dense.copy(stages, place.stage, i);
    }
  });
}

/// A warpgroup's strips of every tile where B stays. By one thread.
template <class F, class Args>
__device__ inline void produce_strips(const Args& args, const UnpackTile<F>& first, const UnpackWgmmaStages<F>& stages,
                                      unsigned warpgroup) {
  constexpr unsigned count_of_group = 4;
  const unsigned count = first.block_count(args);
  RingPlace<F::config.stages> place;
  const auto ignore = [](const UnpackTile<F>&) {};
  first.visit_all(args, ignore, [&](const UnpackTile<F>& tile) {
    StripCopies<F, count_of_group> strips(packed_set(args.strips, tile.product), 0,
                                          tile.first_strip() + warpgroup * count_of_group, count);
#pragma unroll 1
    for (unsigned i = 0; i < count; ++i, place.advance()) {
      wait_empty(stages, place, warpgroup);
      strips.copy(stages.strips(place.stage) + warpgroup * whole_warpgroup_bytes(F::config),
                  stages.full(place.stage, warpgroup), 0);
    }
  });
}

/// Copies of everything by the copy engine: of the first stages by a lane each, then by the first. `Dense`(args, tile)
/// copies k blocks of B, which the launch before may make. By one warp.
template <class F, class Dense, class Args>
__device__ inline void produce_by_engine(const Args& args, const UnpackTile<F>& tile,
                                         const UnpackWgmmaStages<F>& stages, unsigned lane) {
  if constexpr (kept_blocks(F::config) > 0) {
    if (lane == 0) produce_beside_kept<F, Dense>(args, tile, stages);
    return;
  }
  constexpr unsigned stage_count = F::config.stages;
  const Dense dense(args, tile);
  const PackedStrips packed = packed_set(args.strips, tile.product);
  const unsigned count = tile.block_count(args);
  const unsigned ahead = count < stage_count ? count : stage_count;
  copy_first_strips<F>(args, tile, stages, Dense::bytes);
  StripCopies<F> strips(packed, tile.first_block(args) + ahead, tile.first_strip(), lane == 0 ? count - ahead : 0);
  wait_for_previous_launch();
  if (lane < ahead) dense.copy(stages, lane, lane);
  if (lane > 0) return;
  RingPlace<F::config.stages> place{0, 1};
  if constexpr (F::config.persistent)
    if (count < stage_count) place = {count, 0};
  copy_blocks<F>(stages, place, strips, dense, ahead, count);
  if constexpr (F::config.persistent)
    tile.visit_others(args, [&](const UnpackTile<F>& next) {
      StripCopies<F> next_strips(packed, next.first_block(args), next.first_strip(), count);
      copy_blocks<F>(stages, place, next_strips, Dense(args, next), 0, count);
    });
}

/// Every producing thread copies its chunks of B, and one the strips but for those of the first stages.
template <class F, class Args, class Tile>
__device__ inline void produce_direct(const Args& args, const Tile& tile, const UnpackWgmmaStages<F>& stages,
                                      unsigned thread) {
  const PackedStrips packed = packed_set(args.strips, tile.product);
  const unsigned count = tile.block_count(args);
  const unsigned ahead = count < F::config.stages ? count : F::config.stages;
  StripCopies<F> strips(packed, tile.first_block(args) + ahead, tile.first_strip(), thread == 0 ? count - ahead : 0);
  wait_for_previous_launch();
  DirectLines<F> dense(args, tile, thread);
  RingPlace<F::config.stages> place;
#pragma unroll 1
  for (unsigned i = 0; i < count; ++i, place.advance()) {
    wait_empty(stages, place);
    if (thread == 0 && i >= ahead) strips.copy(stages.strips(place.stage), stages.full(place.stage), 0);
    __syncwarp();
    dense.copy(stages.dense(place.stage));
    arrive_after_copies(stages.full(place.stage));
  }
  wait_async<0>();
}

/// B from where it lies, by one of the copying threads or by all. `thread`: of those.
template <class F, class Args, class Tile>
__device__ inline void produce_from_place(const Args& args, const Tile& tile, const UnpackWgmmaStages<F>& stages,
                                          unsigned thread) {
  if constexpr (F::config.tensor_copies) {
    if (thread == 0) prefetch_map(args.dense_map);
    if (thread < 32) produce_by_engine<F, TensorTiles<F>>(args, tile, stages, thread);
  } else {
    produce_direct<F>(args, tile, stages, thread);
  }
}

/// `warp`: of the producing ones.
template <class F, class Args>
__device__ inline void produce(const Args& args, const UnpackTile<F>& tile, const UnpackWgmmaStages<F>& stages,
                               unsigned warp) {
  if constexpr (splits_dense(F::config)) {
    SplitProducer<F, Args> producer(args, tile, stages, warp);
    wait_for_previous_launch();
    producer.run();
  } else {
    const unsigned thread = 32 * warp + threadIdx.x % 32;
    if constexpr (!F::config.prepare_dense) produce_from_place<F>(args, tile, stages, thread);
    else if (thread < 32) produce_by_engine<F, PreparedTiles<F>>(args, tile, stages, thread);
  }
}

}  // namespace vostok
