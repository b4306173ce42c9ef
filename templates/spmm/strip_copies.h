// Copies of packed strips by the copy engine, k block after k block.
#pragma once

#include "parts/bulk_copy.h"
#include "parts/ordered_loads.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// The strips of a tile in one k block follow one another, and so do those of a warpgroup: one copy, of what fits. By
/// one thread, which loads where they lie ahead of that.
template <class F, int strip_count = tile_strips(F::config)>
class StripCopies {
 public:
  /// Of `count` k blocks, `block_step` apart.
  __device__ StripCopies(const PackedStrips& strips, unsigned first_block, unsigned first_strip, unsigned count,
                         unsigned block_step = 1)
      : offsets_(strips.offsets + static_cast<long long>(first_block) * strips.row_strips + first_strip),
        data_(strips.data),
        step_(block_step * strips.row_strips),
        left_(count) {
    look_ahead();
  }

  /// Queues the next k block's copy. `more_bytes`: what else the stage's barrier is to wait for.
  __device__ void copy(unsigned stage_strips, unsigned barrier, unsigned more_bytes) {
    constexpr unsigned room = strip_stage_bytes(F::config) / tile_strips(F::config) * strip_count;
    const unsigned all = (end_ - begin_) * packed_unit_bytes();
    const unsigned bytes = all < room ? all : room;
    const unsigned char* const from = data_ + static_cast<long long>(begin_) * packed_unit_bytes();
    look_ahead();
    arrive_expecting(barrier, bytes + more_bytes);
    copy_bulk<streams_strips(F::config)>(stage_strips, from, bytes, barrier);
  }

 private:
  __device__ void look_ahead() {
    if (left_ == 0) return;
    --left_;
    begin_ = load_ahead(offsets_);
    end_ = load_ahead(offsets_ + strip_count);
    offsets_ += step_;
  }

  const unsigned* offsets_;  ///< of the k block to look at next
  const unsigned char* data_;
  unsigned step_;  ///< between offsets
  unsigned left_;  ///< k blocks to look at
  unsigned begin_ = 0;
  unsigned end_ = 0;
};

}  // namespace vostok
