// The warps of sparse_tensor_wgmma that multiply. Each loads the passes of its strip of 16 rows into registers, four of
// them multiply a tile of B with theirs.
#pragma once

#include "abi/sparse_tensor_wgmma.h"
#include "parts/mbarrier.h"
#include "parts/ordered_loads.h"
#include "parts/wgmma_sparse.h"
#include "spmm/sparse_fragments.h"
#include "spmm/unpack_tile.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// A strip's fragments. Of passes that some strip of the same 64 rows has, but this one lacks, they are empty; of those
/// that none has, anything.
struct LoadedStrip {
  SparseFragment at[sparse_steps()][sparse_most_passes()];
  SparseHeader header;
};

/// A warp's strips, k block after k block. Where they start is looked up one k block ahead.
template <class F>
class SparseWarpStrips {
  static constexpr unsigned room = strip_stage_bytes(F::config);
  static constexpr bool all_fit = F::config.strip_passes == sparse_steps() * sparse_most_passes();

 public:
  __device__ SparseWarpStrips(const PackedStrips& strips, unsigned first_block, unsigned first_strip, unsigned warp)
      : offsets_(strips.offsets + static_cast<long long>(first_block) * strips.row_strips + first_strip),
        data_(strips.data),
        row_strips_(strips.row_strips),
        warp_(warp) {
    look_ahead();
  }

  /// Loads the k block looked at, whose stage is full, and looks at the next one where there is one.
  __device__ void load(LoadedStrip& strip, unsigned stage_strips, bool looks_ahead) {
    const SharedAddress staged{stage_strips + (own_ - first_) * packed_unit_bytes()};
    const unsigned lane = threadIdx.x % 32;
    if constexpr (all_fit) {
      if (looks_ahead) look_ahead();
      read(strip, SparseStrip<SharedAddress>(staged, lane));
    } else {
      const bool fits = (end_ - first_) * packed_unit_bytes() <= room;
      const unsigned char* const memory = data_ + static_cast<long long>(own_) * packed_unit_bytes();
      if (looks_ahead) look_ahead();
      if (fits) read(strip, SparseStrip<SharedAddress>(staged, lane));
      else read(strip, SparseStrip<const unsigned char*>(memory, lane));
    }
    // The same word in every lane, which the compiler is to know: multiplications in branches that may diverge would be
    // serialised.
    strip.header.word = __shfl_sync(0xffffffffU, strip.header.word, 0);
  }

 private:
  __device__ void look_ahead() {
    first_ = load_ahead(offsets_);
    own_ = load_ahead(offsets_ + warp_);
    if constexpr (!all_fit) end_ = load_ahead(offsets_ + warp_ + 1);
    offsets_ += row_strips_;
  }

  template <class Strip>
  static __device__ void read(LoadedStrip& loaded, const Strip& strip) {
    loaded.header = strip.header();
#pragma unroll
    for (int step = 0; step < sparse_steps(); ++step)
#pragma unroll
      for (unsigned pass = 0; pass < sparse_most_passes(); ++pass) {
        if (pass >= loaded.header.tile_passes(step)) continue;
        loaded.at[step][pass] = pass < loaded.header.passes(step) ? strip.load(step, pass) : empty_fragment();
      }
  }

  const unsigned* offsets_;  ///< of the tile's first strip in the k block to look at next
  const unsigned char* data_;
  unsigned row_strips_;
  unsigned warp_;
  unsigned first_ = 0;
  unsigned own_ = 0;
  unsigned end_ = 0;
};

/// The sums of a warp's 16 rows, as wgmma's registers have them.
template <class F>
class SparseWarpgroupSum {
  static constexpr auto config = F::config;
  static constexpr int count = config.tile_columns / 2;
  static constexpr bool along_k = lines_along_k(F::traits, config);
  static constexpr DenseLine line = along_k ? DenseLine::k : DenseLine::columns;
  static constexpr unsigned dense_step =
      along_k ? sparse_step_columns() * 2 : sparse_step_columns() * split_line_bytes();

 public:
  /// Queues a k block's products. Neither strip nor stage may change before finish().
  __device__ void multiply(const LoadedStrip& strip, unsigned dense) {
    const unsigned long long first = dense_descriptor(dense, split_plane_bytes());
    // Passes are the same for the four warps, which the compiler does not know: it wants the fence in every branch, and
    // where they meet.
#pragma unroll
    for (int step = 0; step < sparse_steps(); ++step)
#pragma unroll
      for (unsigned pass = 0; pass < sparse_most_passes(); ++pass)
        if (pass < strip.header.tile_passes(step)) {
          const SparseFragment& a = strip.at[step][pass];
          begin_multiplications();
          SparseWarpgroupMma<config.tile_columns>::template multiply<F::traits.element, line>(
              sums_, a.at, a.metadata, moved_descriptor(first, step * dense_step));
        }
    begin_multiplications();
    commit_multiplications();
  }

  /// Waits for the queued products.
  __device__ void finish() { wait_multiplications(); }

  /// The fragment of columns 8 * octet and on: elements 2 * upper + j are columns 2 * (lane % 4) + j of row lane / 4 +
  /// 8 * upper.
  __device__ void fragment(float (&elements)[4], int octet) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) elements[i] = sums_[4 * octet + i];
  }

 private:
  float sums_[count] = {};
};

/// Where a warp that multiplies is in the ring: what it loads runs one stage ahead of what it multiplies.
template <class F>
class SparseConsumer {
  using Place = RingPlace<F::config.stages>;

 public:
  __device__ SparseConsumer(const SparseTensorArgs& args, const UnpackTile<F>& tile, const UnpackWgmmaStages<F>& stages,
                            unsigned warp)
      : stages_(stages),
        strips_(packed_set(args.strips, tile.product), tile.first_block(args), tile.first_strip(), warp),
        left_(tile.block_count(args)) {}

  /// Goes on with another tile, once run() is through with the one before.
  __device__ void enter(const SparseTensorArgs& args, const UnpackTile<F>& tile, unsigned warp) {
    strips_ =
        SparseWarpStrips<F>(packed_set(args.strips, tile.product), tile.first_block(args), tile.first_strip(), warp);
    left_ = tile.block_count(args);
  }

  /// Everything that the slice has.
  __device__ void run(SparseWarpgroupSum<F>& sum) {
    if (left_ == 0) return;
    LoadedStrip even;
    LoadedStrip odd;
    load(even, left_ > 1);
#pragma unroll 1
    for (;;) {
      multiply(sum, even);
      if (left_ > 1) load(odd, left_ > 2);
      finish(sum);
      if (--left_ == 0) return;
      multiply(sum, odd);
      if (left_ > 1) load(even, left_ > 2);
      finish(sum);
      if (--left_ == 0) return;
    }
  }

 private:
  __device__ void load(LoadedStrip& strip, bool looks_ahead) {
    wait_barrier(stages_.full(loaded_.stage), loaded_.parity);
    strips_.load(strip, stages_.strips(loaded_.stage), looks_ahead);
    loaded_.advance();
  }

  __device__ void multiply(SparseWarpgroupSum<F>& sum, const LoadedStrip& strip) {
    // cp.async writes as threads do.
    if constexpr (copies_by_threads(F::config)) publish_to_async_proxy();
    sum.multiply(strip, stages_.dense(multiplied_.stage));
  }

  __device__ void finish(SparseWarpgroupSum<F>& sum) {
    sum.finish();
    arrive(stages_.empty(multiplied_.stage));
    multiplied_.advance();
  }

  UnpackWgmmaStages<F> stages_;
  SparseWarpStrips<F> strips_;
  unsigned left_;
  Place loaded_;
  Place multiplied_;
};

}  // namespace vostok
