// The warps of unpack_wgmma that multiply. Each unpacks its strip of 16 rows into registers, four of them multiply a
// tile of B with theirs.
#pragma once

#include "abi/either.h"
#include "spmm/left_over_batches.h"
#include "spmm/unpack_wgmma_shared.h"
#include "spmm/unpack_wgmma_strips.h"
#include "spmm/unpack_wgmma_sum.h"

namespace vostok {

/// Which of the warps that multiply the calling one is.
template <class F>
struct ConsumerWarp {
  unsigned group;
  unsigned strip;  ///< of the tile

  /// `warp`: of the block.
  __device__ explicit ConsumerWarp(unsigned warp)
      : group(F::config.k_groups == 1 ? 0 : warp / group_warps(F::config)), strip(warp % group_warps(F::config)) {}
};

/// Where a warp that multiplies is in the ring: what it unpacks runs ahead of what it multiplies where they overlap.
template <class F>
class Consumer {
  static constexpr auto config = F::config;
  static constexpr bool keeps = config.kept_blocks > 0;
  static constexpr bool keeps_dense = dense_rooms(config) > 0;
  using Place = RingPlace<config.stages>;

 public:
  __device__ Consumer(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile, const UnpackWgmmaStages<F>& stages,
                      ConsumerWarp<F> warp)
      : stages_(stages),
        batches_(stages, warp.strip),
        left_((tile.block_count(args) + config.k_groups - 1 - warp.group) / config.k_groups),
        strips_(packed_set(args.strips, tile.product), tile.first_block(args) + warp.group, tile.first_strip(),
                warp.strip, left_ > 0 && !keeps),
        first_dense_(dense_descriptor(stages.dense(0) + column_offset(tile), dense_group_bytes(config))),
        unpacked_{warp.group, 0},
        multiplied_{warp.group, 0},
        ring_(strip_rings(config) > 1 ? warp.strip / 4 : 0) {
    is_last_of_columns_ = tile.is_last_of_columns(args);
    batches_.enter(args, tile);
  }

  /// Goes on with another tile, once run() is through with the one before.
  __device__ void enter(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile, ConsumerWarp<F> warp) {
    if constexpr (!keeps) {
      left_ = tile.block_count(args);
      strips_ = WarpStrips<F>(packed_set(args.strips, tile.product), tile.first_block(args), tile.first_strip(),
                              warp.strip, left_ > 0);
    }
    dense_.enter(tile.row_tile == 0);
    is_last_of_columns_ = tile.is_last_of_columns(args);
    first_dense_ = dense_descriptor(stages_.dense(0) + column_offset(tile), dense_group_bytes(config));
    batches_.enter(args, tile);
  }

  /// Before each tile is begun, where strips stay: those of another row tile take their place.
  __device__ void take_strips(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile, ConsumerWarp<F> warp) {
    if (tile.row_tile == kept_.row_tile) return;
    kept_.row_tile = tile.row_tile;
    WarpStrips<F> strips(packed_set(args.strips, tile.product), 0, tile.first_strip(), warp.strip, true);
    wait_barrier(stages_.kept_full(), kept_.parity);
    kept_.parity ^= 1;
#pragma unroll
    for (int i = 0; i < config.kept_blocks; ++i)
      strips.unpack(kept_.at[i], stages_.strips(i), i + 1 < config.kept_blocks);
    arrive(stages_.kept_empty());
  }

  /// Every k block of the slice that is the group's.
  __device__ void run(WarpgroupSum<F>& sum) {
    if constexpr (keeps) return run_kept(sum);
    if (left_ == 0) return;
    if constexpr (config.overlap && takes_whole(config)) run_queued(sum);
    else if constexpr (config.overlap) run_overlapped(sum);
    else run_in_turn(sum);
    sum.end();
  }

 private:
  /// Of the tile's first column in a line of B: bytes.
  static __device__ unsigned column_offset(const UnpackTile<F>& tile) {
    return config.prepare_dense ? static_cast<unsigned>(tile.first_column() % prepared_columns(config)) * 2 : 0;
  }

  __device__ void run_overlapped(WarpgroupSum<F>& sum) {
    UnpackedStrip<F> even;
    UnpackedStrip<F> odd;
    unpack(even, left_ > 1);
#pragma unroll 1
    for (;;) {
      multiply(sum, even);
      if (left_ > 1) unpack(odd, left_ > 2);
      finish(sum, left_ == 1);
      if (--left_ == 0) return;
      multiply(sum, odd);
      if (left_ > 1) unpack(even, left_ > 2);
      finish(sum, left_ == 1);
      if (--left_ == 0) return;
    }
  }

  /// Of strips that are not unpacked: products of two k blocks are queued, the earlier one's stage is handed back.
  __device__ void run_queued(WarpgroupSum<F>& sum) {
    Place done = multiplied_;
    unsigned done_dense = dense_stage();
#pragma unroll 1
    for (bool first = true; left_ > 0; --left_, first = false) {
      UnpackedStrip<F> strip;
      wait_barrier(full(multiplied_.stage), multiplied_.parity);
      strips_.unpack(strip, stages_.strips(multiplied_.stage), false);
      multiply(sum, strip);
      sum.finish_before_last();
      if (!first) release(done.stage, done_dense);
      done = multiplied_;
      done_dense = dense_stage();
      advance();
    }
    sum.finish(stages_.scales(done_dense), true, batches_);
    release(done.stage, done_dense);
  }

  __device__ void run_in_turn(WarpgroupSum<F>& sum) {
    UnpackedStrip<F> strip;
#pragma unroll 1
    for (; left_ > 0; --left_) {
      unpack(strip, left_ > 1);
      multiply(sum, strip);
      finish(sum, left_ == 1);
    }
  }

  /// Every k block of A, which stays.
  __device__ void run_kept(WarpgroupSum<F>& sum) {
#pragma unroll
    for (int i = 0; i < config.kept_blocks; ++i) {
      wait_barrier(full(multiplied_.stage), multiplied_.parity);
      multiply(sum, kept_.at[i]);
      finish(sum, i + 1 == config.kept_blocks);
    }
    sum.end();
  }

  __device__ void unpack(UnpackedStrip<F>& strip, bool looks_ahead) {
    Place& place = unpacks_ahead(config) ? unpacked_ : multiplied_;
    wait_barrier(full(place.stage), place.parity);
    strips_.unpack(strip, stages_.strips(place.stage), looks_ahead);
    if constexpr (unpacks_ahead(config)) unpacked_.advance(config.k_groups);
  }

  __device__ void multiply(WarpgroupSum<F>& sum, const UnpackedStrip<F>& strip) {
    // cp.async writes as threads do.
    if constexpr (copies_by_threads(config)) publish_to_async_proxy();
    if constexpr (keeps_dense) wait_barrier(stages_.dense_full(dense_.at.stage), dense_.at.parity);
    batches_.begin();
    sum.multiply(strip, moved_descriptor(first_dense_, dense_stage() * dense_stage_bytes(F::traits, config)), batches_);
  }

  __device__ void finish(WarpgroupSum<F>& sum, bool is_last) {
    sum.finish(stages_.scales(dense_stage()), is_last, batches_);
    release(multiplied_.stage, dense_stage());
    advance();
  }

  /// Every lane for itself: one for its warp would save no time, and racecheck would not see that it speaks for the
  /// others' reads.
  __device__ void release(unsigned stage, [[maybe_unused]] unsigned dense_stage) {
    arrive(stages_.empty(stage, ring_));
    if constexpr (keeps_dense)
      if (is_last_of_columns_) arrive(stages_.dense_empty(dense_stage));
  }

  __device__ unsigned full(unsigned stage) const { return stages_.full(stage, ring_); }

  __device__ unsigned dense_stage() const {
    if constexpr (keeps_dense) return dense_.at.stage;
    else return multiplied_.stage;
  }
  __device__ void advance() {
    multiplied_.advance(config.k_groups);
    if constexpr (keeps_dense) dense_.at.advance();
  }

  UnpackWgmmaStages<F> stages_;
  Either<NoBatches, LeftOverBatches<F>, batches_left_over(config)> batches_;
  unsigned left_;  ///< k blocks
  WarpStrips<F> strips_;
  unsigned long long first_dense_;  ///< of the first stage
  Place unpacked_;                  ///< the next one to unpack, where that runs ahead
  Place multiplied_;                ///< the next one to multiply

  unsigned ring_;  ///< of stages: the warpgroup's

  struct Kept {
    static constexpr unsigned no_tile = 0xffffffffU;
    UnpackedStrip<F> at[keeps ? config.kept_blocks : 1];  ///< A of the row tile
    unsigned row_tile = no_tile;
    unsigned parity = 0;  ///< of the strips that come next
  };
  struct Nothing {};
  Either<Nothing, Kept, keeps> kept_;

  /// Where B stays: the room of the next k block to multiply, and that of the columns' first one.
  struct DenseRooms {
    DensePlace<F> at;
    DensePlace<F> first;

    /// Another tile, of the same columns or of the next.
    __device__ void enter(bool is_next) {
      if (is_next) first = at;
      else at = first;
    }
  };
  struct NoRooms {
    __device__ void enter(bool) {}
  };
  Either<NoRooms, DenseRooms, keeps_dense> dense_;
  bool is_last_of_columns_ = true;  ///< where B stays: its rooms are free after this tile
};

}  // namespace vostok
