// Strips of packed values on their way to shared memory: those of a tile's rows in one k block follow one another, one copy.
#pragma once

#include "abi/unpack_mma.h"
#include "parts/async_copy.h"
#include "parts/loads.h"
#include "parts/opaque.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_team.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// Copies the team's k blocks, one after the other. Where strips start is loaded as many k blocks ahead of their copies as there are on
/// their way: at the beginning all at once, so that memory is waited for twice, not once for each stage.
template <class F>
class StripStages {
  using Team = UnpackTeam<F>;
  static constexpr unsigned strips = tile_strips(F::config);
  static constexpr unsigned capacity = strip_stage_units(F::config);
  static constexpr int ahead = F::config.stages - 1;

 public:
  template <class Args>
  __device__ StripStages(const Args& args, const UnpackTile<F>& tile, const PackedStrips& packed)
      : offsets_(packed.offsets + static_cast<long long>(Team::first_block(tile, args)) * packed.row_strips + tile.first_strip()),
        data_(packed.data),
        block_step_(static_cast<unsigned long long>(packed.row_strips) * Team::count),
        left_(Team::block_count(tile, args)) {
#pragma unroll
    for (Place& place : places_) place = next_place();
  }

  /// Copies the next k block, which exists. One that does not fit is left where it is: only its starts are stored.
  __device__ void issue(SharedAddress stage, SharedAddress starts) {
    const Place place = places_[0];
#pragma unroll
    for (int i = 0; i + 1 < ahead; ++i) places_[i] = places_[i + 1];
    places_[ahead - 1] = next_place();
    copy(place, stage, starts);
  }

  static __device__ bool fits(SharedAddress starts) { return load_word(starts + 4 * strips) <= capacity; }

 private:
  /// Where the strips of a k block lie, in units.
  struct Place {
    unsigned begin = 0;
    unsigned end = 0;
    unsigned own = 0;  ///< of the strip with the thread's number
  };

  __device__ Place next_place() {
    Place place;
    if (left_ == 0) return place;
    --left_;
    place.begin = load_global(offsets_);
    place.end = load_global(offsets_ + strips);
    if (Team::thread() <= strips) place.own = load_global(offsets_ + Team::thread());
    offsets_ += block_step_;
    return place;
  }

  __device__ void copy(const Place& place, SharedAddress stage, SharedAddress starts) const {
    const unsigned units = place.end - place.begin;
    const unsigned thread = Team::thread();
    if (thread <= strips) store_word(starts + 4 * thread, place.own - place.begin);
    if (units > capacity) return;
    constexpr int size = Team::size;
    constexpr int rounds = (capacity + size - 1) / size;
    const unsigned char* from = data_ + static_cast<unsigned long long>(place.begin + thread) * packed_unit_bytes;
    make_opaque(from);
    const SharedAddress to = stage + thread * packed_unit_bytes;
    const int left = static_cast<int>(units) - static_cast<int>(thread);
#pragma unroll
    for (int i = 0; i < rounds; ++i)
      if (i * size < left) copy_async<packed_unit_bytes>(to + i * size * packed_unit_bytes, from + i * size * packed_unit_bytes);
  }

  const unsigned* offsets_;  ///< of the next k block to look at
  const unsigned char* data_;
  unsigned long long block_step_;
  unsigned left_;  ///< k blocks not looked at
  Place places_[ahead];
};

/// The strips of one warp in a k block that did not fit its stage, in global memory.
template <class F>
__device__ inline const unsigned char* strip_in_memory(const PackedStrips& packed, unsigned block, unsigned strip) {
  const unsigned unit = load_global(packed.offsets + static_cast<long long>(block) * packed.row_strips + strip);
  return packed.data + static_cast<unsigned long long>(unit) * packed_unit_bytes;
}

}  // namespace vostok
