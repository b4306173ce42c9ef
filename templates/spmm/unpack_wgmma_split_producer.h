// The warps of unpack_wgmma that split B: from global memory or, where the copy engine brings it, from shared memory.
#pragma once

#include "spmm/split_copies.h"
#include "spmm/split_walk.h"
#include "spmm/strip_copies.h"
#include "spmm/unpack_wgmma_shared.h"
#include "spmm/unpack_wgmma_split.h"

namespace vostok {

/// Every producing warp splits its units of B, and the first lane of each k block's first one queues the copy of the
/// strips, where those are not among the first.
template <class F, class Args>
class SplitProducer {
  static constexpr unsigned block_step = split_block_step(F::config);
  static constexpr unsigned stage_count = F::config.stages;
  static constexpr bool copies = copies_units(F::config);
  static constexpr bool keeps_dense = dense_rooms(F::config) > 0;  ///< then another warp copies strips

 public:
  /// `warp`: of the producing ones.
  __device__ SplitProducer(const Args& args, const UnpackTile<F>& tile, const UnpackWgmmaStages<F>& stages,
                           unsigned warp)
      : args_(args),
        stages_(stages),
        walk_(args, tile, warp),
        source_(source(args, tile, stages, warp)),
        strips_(strips_from(walk_.block() + stage_count)) {}

  __device__ void run() {
    if constexpr (copies) source_.begin(args_);
    if (walk_.is_past() && !enter_next()) return;
    scales_.forget();
    SplitElements<F> elements;
    load(elements);
    if constexpr (!copies) {
#pragma unroll 1
      for (unsigned ahead = block_step; ahead < split_lines_ahead(); ahead += block_step) prefetch(ahead);
    }
#pragma unroll 1
    for (;;) {
      store(elements);
      walk_.advance();
      if (walk_.is_past() && !enter_next()) return;
      load(elements);
    }
  }

 private:
  using Source = Either<SplitLoads<F>, SplitCopies<F>, copies>;

  static __device__ Source source(const Args& args, const UnpackTile<F>& tile, const UnpackWgmmaStages<F>& stages,
                                  unsigned warp) {
    if constexpr (copies) return SplitCopies<F>(args, tile, stages, warp);
    else return SplitLoads<F>(args, tile);
  }

  __device__ bool copies_strips() const { return !keeps_dense && walk_.unit() == 0 && threadIdx.x % 32 == 0; }
  /// Copies of strips that this thread queues, from k block `first` on.
  __device__ StripCopies<F> strips_from(unsigned first) const {
    const UnpackTile<F>& tile = walk_.tile();
    const unsigned count = walk_.count();
    const unsigned own = copies_strips() && first < count ? (count - first + block_step - 1) / block_step : 0;
    return StripCopies<F>(packed_set(args_.strips, tile.product), tile.first_block(args_) + first, tile.first_strip(),
                          own, block_step);
  }

  /// Whether there is another tile.
  __device__ bool enter_next() {
    if constexpr (!F::config.persistent) return false;
    if (!walk_.enter_next(args_)) return false;
    strips_ = strips_from(walk_.block());
    is_first_tile_ = false;
    scales_.forget();
    return true;
  }

  __device__ void load(SplitElements<F>& elements) {
    if constexpr (copies) source_.load(elements);
    else source_.load(elements, walk_.block(), walk_.unit());
  }

  __device__ void prefetch(unsigned ahead) const {
    if (walk_.block() + ahead < walk_.count()) source_.prefetch(walk_.block() + ahead, walk_.unit());
  }

  __device__ void store(const SplitElements<F>& elements) {
    const unsigned stage = walk_.place().stage;
    wait_dense_empty(stages_, walk_.place());
    if (copies_strips() && (walk_.block() >= stage_count || !is_first_tile_))
      strips_.copy(stages_.strips(stage), stages_.full(stage), 0);
    if constexpr (!copies) prefetch(split_lines_ahead());
    __syncwarp();
    const unsigned first = first_term_place(stages_, stage, walk_.unit());
    const unsigned inverses = stages_.scales(stage) + 4 * walk_.unit() * split_unit_columns(F::config);
    [[maybe_unused]] const auto small = store_split<F>(elements, scales_, first, inverses, [&] {
      if constexpr (copies) source_.refill(args_);
    });
    if constexpr (certifies_splits(F::traits, F::config))
      if (__any_sync(0xffffffffU, small.any())) [[unlikely]]
        mark(first, inverses, small.any_vanishes());
    publish_to_async_proxy();
    arrive(stages_.dense_full(stage));
  }

  __device__ void mark(unsigned first_term, unsigned inverses, bool vanishes) {
    SplitScales<F>::mark(first_term, inverses, vanishes);
    scales_.take_marks(inverses);
  }

  const Args& args_;
  UnpackWgmmaStages<F> stages_;
  SplitWalk<F> walk_;
  Source source_;
  StripCopies<F> strips_;
  SplitScales<F> scales_;
  bool is_first_tile_ = true;  ///< whose first strips others copy
};

}  // namespace vostok
