// Units of B that unpack_wgmma splits, brought to shared memory by the copy engine: what is on its way takes no
// registers, and no instructions but one lane's.
//
// A warp has rooms of its own, each for a unit as it lies in global memory. It takes a unit to registers, queues the
// copy of a later one into the same room, and splits the first meanwhile: no other warp waits for a room.
#pragma once

#include "parts/ordered_loads.h"
#include "parts/tensor_copy.h"
#include "spmm/split_walk.h"
#include "spmm/unpack_wgmma_split.h"

namespace vostok {

template <class F>
__device__ inline void initialise_units(const UnpackWgmmaStages<F>& stages) {
  if constexpr (copies_units(F::config)) {
#pragma unroll
    for (unsigned i = 0; i < copied_units(F::config); ++i) initialise_barrier(stages.unit_full(i), 1);
  }
}

/// The copies of a warp's units: boxes of 16 columns by 64 k, whose lines of 64 bytes follow one another.
template <class F>
class SplitCopies {
  using Share = UnitShare<F>;
  static constexpr unsigned rooms = copied_units(F::config) / F::config.producer_warps;  ///< of a warp
  static constexpr unsigned line_bytes = 4 * Share::columns;
  static_assert(Share::lines * line_bytes == copied_unit_bytes(), "a room holds a unit");

 public:
  /// Its first copies wait for begin(). `warp`: of the producing ones.
  template <class Args>
  __device__ SplitCopies(const Args& args, const UnpackTile<F>& tile, const UnpackWgmmaStages<F>& stages, unsigned warp)
      : stages_(stages), map_(args.dense_map), next_(args, tile, warp), first_room_(warp * rooms) {
    if (threadIdx.x % 32 == 0) prefetch_map(map_);
  }

  template <class Args>
  __device__ void begin(const Args& args) {
    is_left_ = !next_.is_past() || next_.enter_next(args);
#pragma unroll
    for (unsigned i = 0; i < rooms; ++i) queue(args, first_room_ + i);
  }

  /// Takes the warp's next unit.
  __device__ void load(SplitElements<F>& elements) const {
    const unsigned room = first_room_ + place_.stage;
    wait_barrier(stages_.unit_full(room), place_.parity);
    const unsigned first = stages_.unit(room) + Share::first_line() * line_bytes + Share::first_place() * 4;
#pragma unroll
    for (int i = 0; i < Share::own_lines; ++i) {
      const Vector<float, 4> four = load_shared_four(first + Share::lines_before(i) * line_bytes);
#pragma unroll
      for (int j = 0; j < 4; ++j) elements.at[i][0][j] = four.at[j];
    }
  }

  /// Queues a later one in the place of what load() took, of which every lane has made something: the copy engine may
  /// write before a load that was only issued has read.
  template <class Args>
  __device__ void refill(const Args& args) {
    __syncwarp();
    queue(args, first_room_ + place_.stage);
    place_.advance();
  }

 private:
  template <class Args>
  __device__ void queue(const Args& args, unsigned room) {
    if (!is_left_) return;
    if (threadIdx.x % 32 == 0) copy(args, room);
    next_.advance();
    if (next_.is_past()) is_left_ = next_.enter_next(args);
  }

  template <class Args>
  __device__ void copy(const Args& args, unsigned room) const {
    const UnpackTile<F>& tile = next_.tile();
    const int k = static_cast<int>((tile.first_block(args) + next_.block()) * packed_strip_columns());
    const int column = static_cast<int>(tile.first_column()) + static_cast<int>(next_.unit()) * Share::columns;
    arrive_expecting(stages_.unit_full(room), copied_unit_bytes());
    copy_box(stages_.unit(room), map_, column, k, static_cast<int>(tile.product), stages_.unit_full(room));
  }

  UnpackWgmmaStages<F> stages_;
  const TensorMap& map_;
  SplitWalk<F> next_;  ///< the unit to queue next
  unsigned first_room_;
  RingPlace<rooms> place_;  ///< of the unit to take next
  bool is_left_ = false;    ///< whether there are units to queue
};

}  // namespace vostok
