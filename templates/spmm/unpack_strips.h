// Strips of packed values on their way to shared memory: those of a tile's rows in one k block follow one another, one copy.
#pragma once

#include "abi/unpack_mma.h"
#include "parts/async_copy.h"
#include "parts/loads.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// Copies k block after k block. Where the strips start is loaded one k block ahead of its copy.
template <class F>
class StripStages {
  static constexpr unsigned strips = tile_strips(F::config);
  static constexpr unsigned capacity = strip_stage_units(F::config);

 public:
  template <class Args>
  __device__ StripStages(const Args& args, const UnpackTile<F>& tile, const PackedStrips& packed)
      : offsets_(packed.offsets + static_cast<long long>(tile.first_block(args)) * packed.row_strips + tile.first_strip()),
        data_(packed.data),
        block_step_(packed.row_strips) {}

  /// Loads where the next k block's strips start; `exists`: there is one.
  __device__ void look_ahead(bool exists) {
    if (!exists) return;
    begin_ = load_global(offsets_);
    end_ = load_global(offsets_ + strips);
    if (threadIdx.x <= strips) own_ = load_global(offsets_ + threadIdx.x);
    offsets_ += block_step_;
  }

  /// Copies the k block that was looked at last. One that does not fit is left where it is: only its starts are stored.
  __device__ void issue(unsigned char* stage, unsigned* starts) const {
    const unsigned units = end_ - begin_;
    if (threadIdx.x <= strips) starts[threadIdx.x] = own_ - begin_;
    if (units > capacity) return;
    constexpr unsigned step = threads(F::config);
    const unsigned char* from = data_ + static_cast<unsigned long long>(begin_ + threadIdx.x) * packed_unit_bytes;
    SharedAddress to = shared_address(stage) + threadIdx.x * packed_unit_bytes;
    for (unsigned unit = threadIdx.x; unit < units; unit += step) {
      copy_async<packed_unit_bytes>(to, from);
      to = to + step * packed_unit_bytes;
      from += step * packed_unit_bytes;
    }
  }

  static __device__ bool fits(const unsigned* starts) { return starts[strips] <= capacity; }

 private:
  const unsigned* offsets_;  ///< of the next k block
  const unsigned char* data_;
  unsigned block_step_;
  unsigned begin_ = 0;
  unsigned end_ = 0;
  unsigned own_ = 0;  ///< of the strip with the thread's number
};

/// The strips of one warp in a k block that did not fit its stage, in global memory.
template <class F>
__device__ inline const unsigned char* strip_in_memory(const PackedStrips& packed, unsigned block, unsigned strip) {
  const unsigned unit = load_global(packed.offsets + static_cast<long long>(block) * packed.row_strips + strip);
  return packed.data + static_cast<unsigned long long>(unit) * packed_unit_bytes;
}

}  // namespace vostok
