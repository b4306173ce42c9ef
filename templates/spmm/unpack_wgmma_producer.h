// The warps of unpack_wgmma that copy: strips of A and a tile of B, k block after k block, into a ring of stages.
#pragma once

#include "parts/async_copy.h"
#include "parts/bulk_copy.h"
#include "parts/dependent_launch.h"
#include "parts/loads.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// The strips of a tile in one k block follow one another: one copy, of what fits.
template <class F>
class StripCopies {
 public:
  __device__ StripCopies(const PackedStrips& strips, unsigned first_block, unsigned first_strip)
      : offsets_(strips.offsets + static_cast<long long>(first_block) * strips.row_strips + first_strip),
        data_(strips.data),
        row_strips_(strips.row_strips) {}

  /// Bytes of k block `i` from the first on that are copied, and where they lie.
  struct Extent {
    const unsigned char* from;
    unsigned bytes;
  };
  __device__ Extent extent(unsigned i) const {
    const unsigned* at = offsets_ + static_cast<long long>(i) * row_strips_;
    const unsigned begin = load_global(at);
    const unsigned bytes = (load_global(at + tile_strips(F::config)) - begin) * packed_unit_bytes;
    constexpr unsigned room = strip_stage_bytes(F::config);
    return {data_ + static_cast<long long>(begin) * packed_unit_bytes, bytes < room ? bytes : room};
  }

 private:
  const unsigned* offsets_;
  const unsigned char* data_;
  unsigned row_strips_;
};

/// B as split_dense left it: whole planes, and the columns' scales.
template <class F>
class PreparedTiles {
  static constexpr auto config = F::config;
  static constexpr bool scaled = packed_scales_rows(config.mode);
  static constexpr int columns = prepared_columns(config);
  static constexpr unsigned group_bytes = dense_group_bytes(config);

 public:
  static constexpr unsigned bytes = dense_stage_bytes(F::traits, config) + column_scale_bytes(config);

  __device__ PreparedTiles(const UnpackWgmmaArgs& args, const UnpackWgmmaTile<F>& tile)
      : k_blocks_(args.strips.k_blocks),
        last_group_(args.prepared_tiles - 1),
        group_(static_cast<unsigned>(tile.first_column() / columns)),
        scale_step_(static_cast<long long>(args.prepared_tiles) * columns) {
    const long long first_block = tile.first_block(args);
    tiles_ = static_cast<const unsigned char*>(args.dense) +
             (static_cast<long long>(tile.product) * args.prepared_tiles * k_blocks_ + first_block) * group_bytes;
    if constexpr (scaled)
      scales_ = args.column_scales + (static_cast<long long>(tile.product) * k_blocks_ + first_block) * scale_step_ + tile.first_column();
  }

  /// Copies k block `i`. Tiles that lie wholly past n do not exist: the last one stands in for them.
  __device__ void copy(const UnpackWgmmaStages<F>& stages, unsigned stage, unsigned i) const {
#pragma unroll
    for (unsigned g = 0; g < dense_groups(config); ++g) {
      const unsigned group = group_ + g < last_group_ ? group_ + g : last_group_;
      copy_bulk(stages.dense(stage) + g * group_bytes, tiles_ + (static_cast<long long>(group) * k_blocks_ + i) * group_bytes, group_bytes,
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
template <class F>
class DirectLines {
  static constexpr auto config = F::config;
  static constexpr bool along_k = lines_along_k(F::traits, config);
  static constexpr unsigned chunk = 8;  ///< elements
  static constexpr unsigned lines = along_k ? config.tile_columns : packed_strip_columns;
  static constexpr unsigned chunks = (along_k ? packed_strip_columns : config.tile_columns) / chunk;  ///< of a line of the tile
  static constexpr unsigned producers = 32 * config.producer_warps;

 public:
  __device__ DirectLines(const UnpackWgmmaArgs& args, const UnpackWgmmaTile<F>& tile, unsigned thread)
      : leading_(args.dense_leading), thread_(thread) {
    const long long k = static_cast<long long>(tile.first_block(args)) * packed_strip_columns;
    const long long column = tile.first_column();
    dense_ = static_cast<const unsigned short*>(args.dense) + tile.product * args.dense_stride;
    k_left_ = args.k - k;
    columns_left_ = args.n - column;
    dense_ += along_k ? column * leading_ + k : k * leading_ + column;
  }

  /// Copies k block `i`.
  __device__ void copy(const UnpackWgmmaStages<F>& stages, unsigned stage, unsigned i) const {
    const long long k = static_cast<long long>(i) * packed_strip_columns;
    const unsigned short* const from = dense_ + (along_k ? k : k * leading_);
    const long long k_left = k_left_ - k;
    const long long lines_left = along_k ? columns_left_ : k_left;
    const long long length_left = along_k ? k_left : columns_left_;
#pragma unroll 4
    for (unsigned index = thread_; index < lines * chunks; index += producers) {
      const unsigned line = index / chunks;
      const unsigned place = index % chunks;
      const long long left = line < lines_left ? length_left - place * chunk : 0;
      const int valid = left < 0 ? 0 : left < chunk ? static_cast<int>(left) * 2 : 16;
      const unsigned short* const source = valid > 0 ? from + line * leading_ + place * chunk : dense_;
      const unsigned group = place / 8 * split_plane_bytes;
      copy_async_at(stages.dense(stage) + group + line * split_line_bytes + ((place % 8) ^ (line % 8)) * 16, source, valid);
    }
  }

 private:
  const unsigned short* dense_;
  long long leading_;
  long long k_left_;
  long long columns_left_;
  unsigned thread_;
};

/// Waits until the stage is empty: at once in the ring's first round.
template <class F>
__device__ inline void wait_empty(const UnpackWgmmaStages<F>& stages, const RingPlace<F::config.stages>& place) {
  wait_barrier(stages.empty(place.stage), place.parity ^ 1);
}

/// One thread queues bulk copies of everything. Strips of the first stages do not wait for the launch that prepares B.
template <class F>
__device__ inline void produce_prepared(const UnpackWgmmaArgs& args, const UnpackWgmmaTile<F>& tile, const UnpackWgmmaStages<F>& stages) {
  const StripCopies<F> strips(packed_set(args.strips, tile.product), tile.first_block(args), tile.first_strip());
  const PreparedTiles<F> dense(args, tile);
  const auto copy_strips = [&](unsigned stage, unsigned i) {
    const auto extent = strips.extent(i);
    arrive_expecting(stages.full(stage), extent.bytes + PreparedTiles<F>::bytes);
    copy_bulk(stages.strips(stage), extent.from, extent.bytes, stages.full(stage));
  };
  const unsigned count = tile.block_count(args);
  const unsigned ahead = count < F::config.stages ? count : F::config.stages;
#pragma unroll 1
  for (unsigned i = 0; i < ahead; ++i) copy_strips(i, i);
  wait_for_previous_launch();
#pragma unroll 1
  for (unsigned i = 0; i < ahead; ++i) dense.copy(stages, i, i);
  RingPlace<F::config.stages> place{0, 1};
#pragma unroll 1
  for (unsigned i = ahead; i < count; ++i) {
    wait_empty(stages, place);
    copy_strips(place.stage, i);
    dense.copy(stages, place.stage, i);
    place.advance();
  }
}

/// Every producing thread copies its chunks of B, and one the strips.
template <class F>
__device__ inline void produce_direct(const UnpackWgmmaArgs& args, const UnpackWgmmaTile<F>& tile, const UnpackWgmmaStages<F>& stages,
                                      unsigned thread) {
  wait_for_previous_launch();
  const StripCopies<F> strips(packed_set(args.strips, tile.product), tile.first_block(args), tile.first_strip());
  const DirectLines<F> dense(args, tile, thread);
  const unsigned count = tile.block_count(args);
  RingPlace<F::config.stages> place;
#pragma unroll 1
  for (unsigned i = 0; i < count; ++i, place.advance()) {
    wait_empty(stages, place);
    if (thread == 0) {
      const auto extent = strips.extent(i);
      arrive_expecting(stages.full(place.stage), extent.bytes);
      copy_bulk(stages.strips(place.stage), extent.from, extent.bytes, stages.full(place.stage));
    }
    __syncwarp();
    dense.copy(stages, place.stage, i);
    arrive_after_copies(stages.full(place.stage));
  }
  wait_async<0>();
}

/// Arrivals that fill a stage, beside the bytes.
constexpr unsigned filling_arrivals(const UnpackWgmmaConfig& config) {
  return config.prepare_dense ? 1 : 1 + 32 * static_cast<unsigned>(config.producer_warps);
}

/// `thread`: of the producing ones.
template <class F>
__device__ inline void produce(const UnpackWgmmaArgs& args, const UnpackWgmmaTile<F>& tile, const UnpackWgmmaStages<F>& stages, unsigned thread) {
  if constexpr (F::config.prepare_dense) {
    if (thread == 0) produce_prepared(args, tile, stages);
  } else {
    produce_direct(args, tile, stages, thread);
  }
}

}  // namespace vostok
